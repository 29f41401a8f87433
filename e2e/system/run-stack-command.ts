import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { type ManagedProcess, startManagedProcess } from '@plainpath/stack/managed-process'

const MAIN = fileURLToPath(new URL('../../infra/stack/src/main.ts', import.meta.url))
const START_MS = 290_000
/** The command stops its own processes, each within a bound. If it is killed earlier, they keep running. */
const STOP_MS = 60_000

/** The process of `npm run stack`. */
export interface StackProcess extends AsyncDisposable {
  /** The origin of its gateway. */
  readonly origin: string
  /** The directory with the data and the logs. */
  readonly dataDirectory: string
  /** The lines of its output so far. */
  printed(): Promise<readonly string[]>
  /** Sends SIGINT like Ctrl-C, and returns the exit code. */
  interrupt(): Promise<number | null>
  /** Runs `npm run stack -- --add APP` until the instance listens. @throws {Error} with the end of its output */
  add(app: AppName): Promise<ManagedProcess>
}

/**
 * Runs `npm run stack` with its own port and folder until it is ready.
 *
 * @param args its options
 * @throws {Error} with the end of its output
 */
export async function runStackCommand(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<StackProcess> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-stack-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  // If root runs this, the database server runs as another user, who must be able to enter this folder.
  await chmod(folder, 0o755)
  const [port = 0] = await freePorts(1)
  const dataDirectory = path.join(folder, 'data')
  const stackProcess = opening.use(
    await startManagedProcess({
      name: 'npm run stack',
      command: [process.execPath, MAIN, ...args],
      env: { PORT: String(port), DATA_DIR: dataDirectory, ...env },
      logFile: path.join(folder, 'printed.log'),
      readyLine: 'Ready: ',
      startMs: START_MS,
      stopMs: STOP_MS,
    }),
  )
  const resources = opening.move()
  return {
    origin: `http://localhost:${port}`,
    dataDirectory,
    printed: async () => (await readFile(stackProcess.logFile, 'utf8')).trimEnd().split('\n'),
    async interrupt() {
      await stackProcess.stop('SIGINT')
      return stackProcess.child.exitCode
    },
    add: (app) =>
      startManagedProcess({
        name: `npm run stack -- --add ${app}`,
        command: [process.execPath, MAIN, '--add', app],
        env: { DATA_DIR: dataDirectory },
        logFile: path.join(folder, 'added.log'),
        readyLine: 'Ctrl-C stops it',
        startMs: START_MS,
        stopMs: STOP_MS,
      }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

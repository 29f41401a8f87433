import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@plainpath/http/free-ports'
import { startManagedProcess } from '@plainpath/stack/managed-process'

const MAIN = fileURLToPath(new URL('../../infra/stack/src/main.ts', import.meta.url))
const START_MS = 110_000
/** The command stops its own processes, each within a bound. If it is killed earlier, they keep running. */
const STOP_MS = 60_000

/** The process of `npm run stack`. */
export interface StackProcess extends AsyncDisposable {
  /** The origin of its gateway. */
  readonly origin: string
  /** The lines of its output so far. */
  printed(): Promise<readonly string[]>
  /** Sends SIGINT like Ctrl-C, and returns the exit code. */
  interrupt(): Promise<number | null>
}

/** Runs `npm run stack` with its own port and folder until it is ready. @throws {Error} with the end of its output */
export async function runStackCommand(env: Readonly<Record<string, string>>): Promise<StackProcess> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-stack-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  // For root the database server runs as another user, which must be able to enter its folder inside this one.
  await chmod(folder, 0o755)
  const [port = 0] = await freePorts(1)
  const started = opening.use(
    await startManagedProcess({
      name: 'npm run stack',
      command: [process.execPath, MAIN],
      env: { PORT: String(port), DATA_DIR: path.join(folder, 'data'), ...env },
      logFile: path.join(folder, 'printed.log'),
      readyLine: 'Ready: ',
      startMs: START_MS,
      stopMs: STOP_MS,
    }),
  )
  const resources = opening.move()
  return {
    origin: `http://localhost:${port}`,
    printed: async () => (await readFile(started.logFile, 'utf8')).trimEnd().split('\n'),
    async interrupt() {
      await started.stop('SIGINT')
      return started.child.exitCode
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { type ManagedProcess, startManagedProcess } from '@plainpath/stack/managed-process'

const MAIN = fileURLToPath(new URL('../../infra/stack/src/main.ts', import.meta.url))
/** Below the 300 s that the tests allow for a start, so that a start that takes too long fails with its output. */
const START_TIMEOUT_MS = 290_000
/**
 * The time that the command has to end after a signal, before it receives SIGKILL. It needs this time to stop its processes, each
 * of which has a time limit of its own. After a SIGKILL they would keep running.
 */
const STOP_TIMEOUT_MS = 60_000

/** A process that runs the program of `npm run stack`. Disposing stops it and deletes its folder. */
export interface StackProcess extends AsyncDisposable {
  /** The origin of the stack's gateway. */
  readonly origin: string
  /** The directory with the data and the logs. */
  readonly dataDirectory: string
  /** Reads the lines that the process has printed so far. */
  readOutput(): Promise<readonly string[]>
  /**
   * Sends SIGINT, as Ctrl-C does, and SIGKILL after 60 s. Waits until the process has ended.
   *
   * @returns the exit code; null if a signal ended the process
   */
  interrupt(): Promise<number | null>
  /**
   * Runs the program of `npm run stack -- --add APP`, and waits until the instance is ready. The caller disposes of the result.
   * All calls append the output of their command to one file.
   *
   * @throws {Error} with the end of the output, if the command ends or the instance is not ready in time
   */
  addInstance(app: AppName): Promise<ManagedProcess>
}

/**
 * Runs the program of `npm run stack`, without npm and the bootstrap script, and waits until it is ready. It uses a free port
 * and a temporary folder.
 *
 * @param env further environment variables. PORT and DATA_DIR are for tests in which the start fails: `origin` and
 *   `dataDirectory` of the result do not reflect them
 * @param args the options of the command
 * @throws {Error} with the end of the output, if the command ends or is not ready in time
 */
export async function runStackCommand(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<StackProcess> {
  await using opening = new AsyncDisposableStack()
  const { path: folder } = opening.use(await createTemporaryFolder('stack'))
  const [port = 0] = await reserveFreePorts(1)
  const dataDirectory = path.join(folder, 'data')
  const stackProcess = opening.use(
    await startManagedProcess({
      name: 'npm run stack',
      command: [process.execPath, MAIN, ...args],
      env: { PORT: String(port), DATA_DIR: dataDirectory, ...env },
      logFile: path.join(folder, 'stack.log'),
      readyLine: 'Ready: ',
      startMs: START_TIMEOUT_MS,
      stopMs: STOP_TIMEOUT_MS,
    }),
  )
  const resources = opening.move()
  return {
    origin: `http://localhost:${port}`,
    dataDirectory,
    readOutput: async () => (await readFile(stackProcess.logFile, 'utf8')).trimEnd().split('\n'),
    async interrupt() {
      await stackProcess.stop('SIGINT')
      return stackProcess.child.exitCode
    },
    addInstance: (app) =>
      startManagedProcess({
        name: `npm run stack -- --add ${app}`,
        command: [process.execPath, MAIN, '--add', app],
        env: { DATA_DIR: dataDirectory },
        logFile: path.join(folder, 'added-instance.log'),
        // A part of the announcement that `addInstance` in main.ts returns.
        readyLine: 'Ctrl-C stops it',
        startMs: START_TIMEOUT_MS,
        stopMs: STOP_TIMEOUT_MS,
      }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

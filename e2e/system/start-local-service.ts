import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { type ManagedProcess, startManagedProcess } from '@plainpath/stack/managed-process'

/** Returns the path of a program in `apps/local`, such as `main` for `npm start`. */
export const toLocalProgram = (name: string): string =>
  fileURLToPath(new URL(`../../apps/local/src/${name}.ts`, import.meta.url))

/**
 * Runs the program of `npm start`, without npm, on free ports, with its data and log in `folder`. Waits until the service is
 * ready.
 *
 * @returns the process, its port, and the folder of its data inside `folder`
 */
export async function startLocalService(
  folder: string,
): Promise<{ service: ManagedProcess; port: number; dataDirectory: string }> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const dataDirectory = path.join(folder, 'data')
  const [port = 0, mcpPort = 0] = await reserveFreePorts(2)
  const service = await startManagedProcess({
    name: 'npm start',
    command: [process.execPath, toLocalProgram('main')],
    env: {
      PATH,
      NODE_COMPILE_CACHE,
      DATA_DIR: dataDirectory,
      PORT: String(port),
      MCP_PORT: String(mcpPort),
    },
    logFile: path.join(folder, 'printed.log'),
    readyLine: 'Plainpath is ready',
    // Below the 120 s that the tests allow for a start, so that a start that takes too long fails with its output.
    startMs: 110_000,
  })
  return { service, port, dataDirectory }
}

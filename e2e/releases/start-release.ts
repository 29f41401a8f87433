import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { selectKnownSettings } from '@plainpath/stack/check-out'
import { type ManagedProcess, startManagedProcess } from '@plainpath/stack/managed-process'
import type { ReleaseUrls } from './run-smoke-test.ts'

export interface RunningRelease extends AsyncDisposable, ReleaseUrls {
  readonly processes: readonly ManagedProcess[]
}

const getMainPath = (root: string, app: AppName) => path.join(root, 'apps', app, 'src/main.ts')

/**
 * Starts one process of each app from the code in `root`, and waits until both listen.
 *
 * @param options.name the prefix of the names of processes and log files
 * @param options.env the settings; each app receives only those that it knows
 * @param options.folder where the log files are written
 */
export async function startRelease(
  root: string,
  { name, env, folder }: { name: string; env: Readonly<Record<string, string>>; folder: string },
): Promise<RunningRelease> {
  await using startedProcesses = new AsyncDisposableStack()
  const [
    authPort = 0,
    authInternalPort = 0,
    authOperationsPort = 0,
    resourcePort = 0,
    resourceOperationsPort = 0,
  ] = await reserveFreePorts(5)
  const start = async (app: AppName, extraSettings: Record<string, string>) =>
    startedProcesses.use(
      await startManagedProcess({
        name: `${name}-${app}`,
        command: [process.execPath, getMainPath(root, app), 'serve'],
        env: selectKnownSettings(root, app, { ...env, ...extraSettings }),
        logFile: path.join(folder, `${name}-${app}.log`),
        readyLine: '"msg":"listening"',
      }),
    )
  const auth = await start('auth', {
    AUTH_HOST: '127.0.0.1',
    AUTH_PORT: String(authPort),
    AUTH_INTERNAL_PORT: String(authInternalPort),
    AUTH_OPERATIONS_PORT: String(authOperationsPort),
  })
  const resource = await start('resource', {
    RESOURCE_HOST: '127.0.0.1',
    RESOURCE_PORT: String(resourcePort),
    RESOURCE_OPERATIONS_PORT: String(resourceOperationsPort),
    RESOURCE_AUTH_URL: `http://127.0.0.1:${authInternalPort}`,
  })
  const resources = startedProcesses.move()
  return {
    origin: env['AUTH_ORIGIN'] ?? '',
    auth: `http://127.0.0.1:${authPort}`,
    resource: `http://127.0.0.1:${resourcePort}`,
    processes: [auth, resource],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Runs a command of an app from the code in `root`, such as `migrate`. */
export async function runAppCommand(
  root: string,
  app: AppName,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  await promisify(execFile)(process.execPath, [getMainPath(root, app), ...args], {
    env: selectKnownSettings(root, app, env),
  })
}

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

const findMain = (root: string, app: AppName) => path.join(root, 'apps', app, 'src/main.ts')

/** Starts one process of each app from the code below `root`. @param options.env each app receives the settings that it knows */
export async function startRelease(
  root: string,
  { name, env, folder }: { name: string; env: Readonly<Record<string, string>>; folder: string },
): Promise<RunningRelease> {
  await using opening = new AsyncDisposableStack()
  const [port = 0, internal = 0, operations = 0, apiPort = 0, apiOperations = 0] = await reserveFreePorts(5)
  const start = async (app: AppName, extraSettings: Record<string, string>) =>
    opening.use(
      await startManagedProcess({
        name: `${name}-${app}`,
        command: [process.execPath, findMain(root, app), 'serve'],
        env: selectKnownSettings(root, app, { ...env, ...extraSettings }),
        logFile: path.join(folder, `${name}-${app}.log`),
        readyLine: '"msg":"listening"',
      }),
    )
  const auth = await start('auth', {
    AUTH_HOST: '127.0.0.1',
    AUTH_PORT: String(port),
    AUTH_INTERNAL_PORT: String(internal),
    AUTH_OPERATIONS_PORT: String(operations),
  })
  const resource = await start('resource', {
    RESOURCE_HOST: '127.0.0.1',
    RESOURCE_PORT: String(apiPort),
    RESOURCE_OPERATIONS_PORT: String(apiOperations),
    RESOURCE_AUTH_URL: `http://127.0.0.1:${internal}`,
  })
  const resources = opening.move()
  return {
    origin: env['AUTH_ORIGIN'] ?? '',
    auth: `http://127.0.0.1:${port}`,
    resource: `http://127.0.0.1:${apiPort}`,
    processes: [auth, resource],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Runs a command of the code below `root`, such as `migrate`. */
export async function runCommand(
  root: string,
  app: AppName,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  await promisify(execFile)(process.execPath, [findMain(root, app), ...args], {
    env: selectKnownSettings(root, app, env),
  })
}

import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { selectKnownSettings } from '@plainpath/stack/check-out'
import { startApp } from '@plainpath/stack/start-app'
import { ON_SERVER_CORE } from './machine.ts'
import type { Stores } from './open-stores.ts'

/** A running instance of an app. */
export interface App extends AsyncDisposable {
  readonly pid: number
  readonly port: number
  readonly operationsPort: number
  /** For auth: the port at which APIs introspect. */
  readonly internalPort: number
}

/** Starts an app, by default on the core for servers. */
export async function startMeasuredApp(
  stores: Stores,
  options: {
    app: AppName
    /** Distinguishes the logs of several instances. */
    number: number
    folder: string
    /** For an API: the auth instances at which it introspects. */
    auths?: readonly App[]
    /** The folder into which Node writes a CPU profile of the app when the app ends. */
    profileFolder?: string | undefined
    /** The check-out whose code runs; by default this clone. */
    root?: string | undefined
    /** Options of Node, such as `--max-semi-space-size=4`. */
    nodeOptions: readonly string[]
    /** The command prefix that runs the app; by default `taskset` for the core for servers. */
    wrapper?: readonly string[]
  },
): Promise<App> {
  const { app, number, folder, auths = [], profileFolder, root, wrapper = ON_SERVER_CORE } = options
  const [port = 0, operations = 0, internal = 0] = await reserveFreePorts(3)
  const profile = profileFolder
    ? ['--cpu-prof', '--cpu-prof-dir', profileFolder, '--cpu-prof-name', `${app}-${number}.cpuprofile`]
    : []
  const env = {
    ...stores.env,
    ...(auths.length > 0 && {
      RESOURCE_AUTH_URL: auths.map(({ internalPort }) => `http://127.0.0.1:${internalPort}`).join(','),
    }),
  }
  const runningApp = await startApp({
    app,
    number,
    ports: { public: port, operations, internal },
    env: root === undefined ? env : selectKnownSettings(root, app, env),
    ...(root !== undefined && { root }),
    folder,
    nodeOptions: [...options.nodeOptions, ...profile],
    wrapper,
  })
  return {
    pid: runningApp.child.pid ?? 0,
    port,
    operationsPort: operations,
    internalPort: internal,
    [Symbol.asyncDispose]: () => runningApp[Symbol.asyncDispose](),
  }
}

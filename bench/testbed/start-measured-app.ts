import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { selectKnownSettings } from '@plainpath/stack/check-out'
import { startApp } from '@plainpath/stack/start-app'
import { ON_SERVER_CORE } from './machine.ts'
import type { Stores } from './open-stores.ts'

/** A running instance of an app that the bench measures. */
export interface MeasuredApp extends AsyncDisposable {
  readonly pid: number
  readonly port: number
  readonly operationsPort: number
  /** For auth: the port that receives introspection requests. Nothing listens on it for an API. */
  readonly internalPort: number
}

/** Starts an app, by default pinned to the server core. */
export async function startMeasuredApp(
  stores: Stores,
  options: {
    app: AppName
    /** Distinguishes the logs and profiles of several instances. */
    instanceNumber: number
    /** The folder for the log. */
    folder: string
    /** For an API: the auth instances to which it sends introspection requests. */
    auths?: readonly MeasuredApp[]
    /** The folder into which Node writes a CPU profile of the app when the app ends. */
    profileFolder?: string | undefined
    /** The check-out whose code runs, such as that of another commit; by default this clone. */
    root?: string | undefined
    /** Options of Node, such as `--max-semi-space-size=4`. */
    nodeOptions: readonly string[]
    /** The command prefix that runs the app; by default `taskset`, which pins the app to the server core. */
    wrapper?: readonly string[]
  },
): Promise<MeasuredApp> {
  const { app, instanceNumber, folder, auths = [], profileFolder, root, wrapper = ON_SERVER_CORE } = options
  const [port = 0, operations = 0, internal = 0] = await reserveFreePorts(3)
  const profileOptions = profileFolder
    ? [
        '--cpu-prof',
        '--cpu-prof-dir',
        profileFolder,
        '--cpu-prof-name',
        `${app}-${instanceNumber}.cpuprofile`,
      ]
    : []
  const env = {
    ...stores.env,
    ...(auths.length > 0 && {
      RESOURCE_AUTH_URL: auths.map(({ internalPort }) => `http://127.0.0.1:${internalPort}`).join(','),
    }),
  }
  const runningApp = await startApp({
    app,
    number: instanceNumber,
    ports: { public: port, operations, internal },
    // An older commit refuses to start with settings that it does not know.
    env: root === undefined ? env : selectKnownSettings(root, app, env),
    ...(root !== undefined && { root }),
    folder,
    nodeOptions: [...options.nodeOptions, ...profileOptions],
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

import { freePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { appProgram, COMPILE_CACHE } from '@plainpath/stack/app-program'
import type { Stores } from './open-stores.ts'
import { type Server, startServer } from './start-server.ts'

export interface App extends Server {
  /** Of auth: where APIs introspect. 0 for an API. */
  readonly internalPort: number
  readonly operationsPort: number
}

interface StartOptions {
  readonly folder: string
  /** Node writes a CPU profile of each app there when it ends. */
  readonly profileFolder?: string | undefined
  /** Of Node, such as `--max-semi-space-size=4`. */
  readonly nodeOptions: readonly string[]
}

export async function startAuth(stores: Stores, options: StartOptions): Promise<App> {
  const [port = 0, operations = 0, internal = 0] = await freePorts(3)
  const server = await startApp('auth', {
    ...options,
    port,
    env: {
      ...settingsOf(stores, 'AUTH_'),
      AUTH_HOST: '127.0.0.1',
      AUTH_PORT: String(port),
      AUTH_OPERATIONS_PORT: String(operations),
      AUTH_INTERNAL_PORT: String(internal),
    },
  })
  return Object.assign(server, { internalPort: internal, operationsPort: operations })
}

/** @param number tells the logs of several apart */
export async function startApi(
  stores: Stores,
  { auth, number, ...options }: StartOptions & { auth: App; number: number },
): Promise<App> {
  const [port = 0, operations = 0] = await freePorts(2)
  const server = await startApp(`resource-${number}`, {
    ...options,
    port,
    env: {
      ...settingsOf(stores, 'RESOURCE_'),
      RESOURCE_HOST: '127.0.0.1',
      RESOURCE_PORT: String(port),
      RESOURCE_OPERATIONS_PORT: String(operations),
      RESOURCE_AUTH_URL: `http://127.0.0.1:${auth.internalPort}`,
    },
  })
  return Object.assign(server, { internalPort: 0, operationsPort: operations })
}

function startApp(
  name: string,
  options: StartOptions & { env: Readonly<Record<string, string>>; port: number },
): Promise<Server> {
  const { profileFolder, nodeOptions, ...rest } = options
  const app: AppName = name === 'auth' ? 'auth' : 'resource'
  const profile = profileFolder
    ? ['--cpu-prof', '--cpu-prof-dir', profileFolder, '--cpu-prof-name', `${name}.cpuprofile`]
    : []
  return startServer({
    ...rest,
    name,
    env: { ...COMPILE_CACHE, ...options.env },
    program: [...appProgram(app, [...nodeOptions, ...profile]), 'serve'],
  })
}

const settingsOf = ({ env }: Stores, prefix: string) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith(prefix)))

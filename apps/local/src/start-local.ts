import { type Config as AuthConfig, loadConfig as loadAuthConfig } from '@plainpath/auth/config'
import { initKeys } from '@plainpath/auth/key-operations'
import { verifyResourceServer } from '@plainpath/auth/resource-servers'
import { openStores } from '@plainpath/auth/stores'
import { openAuth } from '@plainpath/auth/wire'
import { type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { holdLock } from '@plainpath/postgres'
import { loadConfig as loadResourceConfig, type Config as ResourceConfig } from '@plainpath/resource/config'
import { publishFirstGuides } from '@plainpath/resource/publish-first-guides'
import { openResource } from '@plainpath/resource/wire'
import { combineApps } from './combine-apps.ts'
import { DATA_DIRECTORY_LOCK } from './data-directory.ts'
import { migrateBothApps, openLocalEnvironment } from './local-environment.ts'
import { type Environment, LocalError, type LocalSettings } from './local-settings.ts'
import { openSecurityEventFile } from './security-event-file.ts'
import { createPlainLog, type RunStep } from './terminal.ts'

const DRAIN_SECONDS = 10

/**
 * Starts both apps in one process on one origin. If `settings.publicMcp` is set, the public MCP server gets a second port. Opens
 * the ports first, to report an occupied port immediately. Until both apps are ready, every request gets a 503.
 *
 * @returns the running service. Disposing gives the requests in flight ten seconds to complete, then stops the service
 * @throws {LocalError} and the other errors that `runProgram` prints as one line
 */
export async function startLocal(
  settings: LocalSettings,
  environment: Environment,
  { print, runStep }: { print: (line: string) => void; runStep: RunStep },
): Promise<AsyncDisposable> {
  await using cleanup = new AsyncDisposableStack()
  const now = () => new Date()
  let handler: RequestHandler = respondNotReady
  let resourceHandler: RequestHandler = respondNotReady
  const listeners: RunningServer[] = []
  for (const host of ['127.0.0.1', '::1']) {
    const listen = async (port: number, variable: string, handle: RequestHandler) => {
      const server = await listenOn(host, port, { variable, handle })
      if (server) listeners.push(cleanup.use(server))
    }
    await listen(settings.port, 'PORT', (request, response) => handler(request, response))
    if (settings.publicMcp)
      await listen(settings.publicMcp.port, 'MCP_PORT', (request, response) =>
        resourceHandler(request, response),
      )
  }
  const localEnvironment = cleanup.use(await openLocalEnvironment(settings, environment, runStep))
  if (localEnvironment.server)
    await lockDataDirectory(cleanup, localEnvironment.server.url, settings.dataDirectory)
  const appendSecurityEvent = openSecurityEventFile(settings.dataDirectory, print)
  await runStep(
    'tables',
    () => migrateBothApps(localEnvironment.env),
    (count) => (count > 0 ? `applied ${count} migrations` : 'up to date'),
  )

  const authConfig = loadAuthConfig(localEnvironment.env)
  const authLog = createPlainLog('auth', print, appendSecurityEvent)
  await runStep(
    'signing key',
    async () => {
      await using stores = await openStores(authConfig, { log: authLog, now })
      return await initKeys({ keys: stores.keys })
    },
    (kid) => (kid ? `created ${kid}` : 'found'),
  )
  const auth = cleanup.use(await openAuth(authConfig, { log: authLog, now, announceMail: print }))
  const internalServerOptions = { port: 0, host: '127.0.0.1', drainSeconds: DRAIN_SECONDS }
  const internalServer = cleanup.use(await serve(auth.internalApp.callback(), internalServerOptions))
  const resourceConfig = loadResourceConfig({
    ...localEnvironment.env,
    // The internal listener has a random port, so `openLocalEnvironment` cannot know its URL.
    RESOURCE_AUTH_URL: environment['RESOURCE_AUTH_URL'] || internalServer.url,
  })
  requireValidApiCredential(authConfig, resourceConfig)
  await runStep(
    'guides',
    () => publishFirstGuides(resourceConfig.databaseUrl, now()),
    (count) => (count > 0 ? `published ${count}` : 'found'),
  )
  const resource = cleanup.use(
    await openResource(resourceConfig, {
      log: createPlainLog('resource', print, appendSecurityEvent),
      now,
      announce: print,
    }),
  )
  resourceHandler = resource.handler
  handler = combineApps({ auth: auth.publicApp.callback(), resource: resource.handler })
  await runStep('service', () => checkHealth(settings.port))
  // The listeners drain before the apps stop, so that requests in flight can still use the stores.
  cleanup.defer(async () => {
    await Promise.all(listeners.map((listener) => listener[Symbol.asyncDispose]()))
  })
  return cleanup.move()
}

/**
 * Checks that auth accepts the credential with which the API introspects tokens.
 *
 * @throws {LocalError} if auth does not accept it
 */
function requireValidApiCredential(
  { resourceServers }: Pick<AuthConfig, 'resourceServers'>,
  { clientId, clientSecret }: Pick<ResourceConfig, 'clientId' | 'clientSecret'>,
): void {
  if (!verifyResourceServer(resourceServers, { clientId, secret: clientSecret }))
    throw new LocalError(
      'The authorization server does not accept the credential of the API: no entry in AUTH_RESOURCE_SERVERS_FILE matches RESOURCE_CLIENT_ID and the secret in RESOURCE_CLIENT_SECRET_FILE. Unset those that you set, or set all three to values that belong together.',
    )
}

/** Responds to requests that arrive before both apps are ready. */
const respondNotReady: RequestHandler = (_request, response) => {
  response.writeHead(503, {
    'retry-after': '1',
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
  })
  response.end(
    JSON.stringify({
      type: 'about:blank',
      title: 'The service is starting',
      status: 503,
      code: 'unavailable',
    }),
  )
}

/**
 * Listens on an address.
 *
 * @returns undefined if this machine does not have the address, for example `::1` without IPv6
 */
async function listenOn(
  host: string,
  port: number,
  { variable, handle }: { variable: string; handle: RequestHandler },
): Promise<RunningServer | undefined> {
  try {
    return await serve(handle, { port, host, drainSeconds: DRAIN_SECONDS })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return undefined
    if (code === 'EADDRINUSE')
      throw new LocalError(
        `Port ${port} is in use. Stop the program that uses it, or choose another port: ${variable}=8090 npm start`,
      )
    if (code === 'EACCES')
      throw new LocalError(`You may not use port ${port}. Choose one above 1023: ${variable}=8090 npm start`)
    throw error
  }
}

/**
 * Holds the lock of a data directory until `cleanup` is disposed of.
 *
 * @throws {LocalError} if another process holds it
 */
async function lockDataDirectory(
  cleanup: AsyncDisposableStack,
  url: string,
  directory: string,
): Promise<void> {
  const lock = await holdLock(url, DATA_DIRECTORY_LOCK)
  if (!lock)
    throw new LocalError(
      `Another npm start or stack serves ${directory}. Stop it, or set DATA_DIR to another directory.`,
    )
  cleanup.use(lock)
}

/**
 * Checks that the service responds to a request on its public port.
 *
 * @throws {LocalError} if the response is not 200; the error of `fetch` if there is none within ten seconds
 */
async function checkHealth(port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/api/health`
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
  if (response.status !== 200)
    throw new LocalError(`The service responded with ${response.status} at ${url}. The lines above say why.`)
}

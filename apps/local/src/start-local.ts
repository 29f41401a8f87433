import { loadConfig as loadAuthConfig } from '@plainpath/auth/config'
import { initKeys } from '@plainpath/auth/key-operations'
import { openStores } from '@plainpath/auth/stores'
import { openAuth } from '@plainpath/auth/wire'
import { type RequestHandler, type RunningServer, serve } from '@plainpath/http'
import { holdLock } from '@plainpath/postgres'
import { loadConfig as loadResourceConfig } from '@plainpath/resource/config'
import { publishFirstGuides } from '@plainpath/resource/publish-first-guides'
import { openResource } from '@plainpath/resource/wire'
import { combineApps } from './combine-apps.ts'
import { migrateBoth, openLocalEnvironment } from './local-environment.ts'
import type { Environment, LocalSettings } from './local-settings.ts'
import { LocalError } from './local-settings.ts'
import type { Step } from './terminal.ts'
import { plainLog } from './terminal.ts'

const DRAIN_SECONDS = 10

/**
 * Starts both apps in one process on one origin, and the public MCP server on a second port. It opens the ports first, so that an
 * occupied one is reported at once. Until everything is ready, each request gets a 503.
 *
 * @throws {LocalError} and the errors of `ONE_LINE_ERRORS`
 */
export async function startLocal(
  settings: LocalSettings,
  environment: Environment,
  { print, step }: { print: (line: string) => void; step: Step },
): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const now = () => new Date()
  let handler: RequestHandler = notReady
  let resourceHandler: RequestHandler = notReady
  for (const host of ['127.0.0.1', '::1']) {
    const listen = async (port: number, variable: string, handle: RequestHandler) => {
      const server = await listenOn(host, port, { variable, handle })
      if (server) opening.use(server)
    }
    await listen(settings.port, 'PORT', (request, response) => handler(request, response))
    if (settings.publicMcp)
      await listen(settings.publicMcp.port, 'MCP_PORT', (request, response) =>
        resourceHandler(request, response),
      )
  }
  const local = opening.use(await openLocalEnvironment(settings, environment, step))
  if (local.server) await lockDataDirectory(opening, local.server.url, settings.dataDirectory)
  await step(
    'tables',
    () => migrateBoth(local.env),
    (count) => (count > 0 ? `applied ${count} migrations` : 'up to date'),
  )

  const authConfig = loadAuthConfig(local.env)
  const authLog = plainLog('auth', print)
  await step(
    'signing key',
    async () => {
      await using stores = await openStores(authConfig, { log: authLog, now })
      return await initKeys({ keys: stores.keys })
    },
    (kid) => (kid ? `made ${kid}` : 'found'),
  )
  const auth = opening.use(await openAuth(authConfig, { log: authLog, now, announce: print }))
  const loopback = { port: 0, host: '127.0.0.1', drainSeconds: DRAIN_SECONDS }
  const internal = opening.use(await serve(auth.internalApp.callback(), loopback))
  const resourceConfig = loadResourceConfig({
    ...local.env,
    RESOURCE_AUTH_URL: environment['RESOURCE_AUTH_URL'] || internal.url,
  })
  await step(
    'guides',
    () => publishFirstGuides(resourceConfig.databaseUrl, now()),
    (count) => (count > 0 ? `published ${count}` : 'found'),
  )
  const resource = opening.use(
    await openResource(resourceConfig, { log: plainLog('resource', print), now, announce: print }),
  )
  resourceHandler = resource.handler
  handler = combineApps({ auth: auth.publicApp.callback(), resource: resource.handler })
  await step('service', () => checkHealth(settings.origin, settings.port))
  return opening.move()
}

const notReady: RequestHandler = (_request, response) => {
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

/** Returns undefined when the machine does not have the address, which can be so for `::1`. */
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
        `Port ${port} is taken. Stop what uses it, or choose another: ${variable}=8090 npm start`,
      )
    if (code === 'EACCES')
      throw new LocalError(
        `Port ${port} may not be used by you. Choose one above 1023: ${variable}=8090 npm start`,
      )
    throw error
  }
}

async function lockDataDirectory(
  opening: AsyncDisposableStack,
  url: string,
  directory: string,
): Promise<void> {
  const lock = await holdLock(url, 'plainpath npm start')
  if (!lock)
    throw new LocalError(
      `Another npm start serves ${directory}. Stop it, or set DATA_DIR to another directory.`,
    )
  opening.use(lock)
}

async function checkHealth(origin: string, port: number): Promise<void> {
  const health = await fetch(`http://127.0.0.1:${port}/api/health`, { signal: AbortSignal.timeout(10_000) })
  if (health.status !== 200)
    throw new LocalError(
      `The service responds with ${health.status} at ${origin}/api/health. The lines above say why.`,
    )
}

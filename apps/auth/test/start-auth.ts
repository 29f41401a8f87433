import type { RequestListener } from 'node:http'
import { createLog, type Log, serve } from '@plainpath/http'
import { ANY_PORT } from '@plainpath/http/testing/any-port'
import { loadConfig } from '../src/config.ts'
import { openAuth, type RuntimeDependencies } from '../src/wire.ts'
import { type AuthStores, openAuthStores, type TokenPlace } from './open-auth-stores.ts'

export const ORIGIN = 'https://plainpath.example'

/** One process of the authorization server, as a gateway reaches it: it listens on its own port and serves ORIGIN. */
export interface RunningAuth extends AsyncDisposable {
  readonly origin: string
  readonly url: string
  readonly internalUrl: string
  readonly operationsUrl: string
  readonly stores: AuthStores
  /** Every line it logged. */
  readonly logged: readonly string[]
  /** The confidential values that were sent or returned: tokens, secrets, names. Nothing may store or log them in clear. */
  readonly confidential: Set<string>
}

export interface StartOptions {
  /** `loopback` for `http://127.0.0.1:<port>`; by default `ORIGIN`. */
  origin?: string
  /** The Redis command timeout. The default is long, because a machine that runs tests is busy. */
  redisTimeoutMs?: number
  /** Timeouts of PostgreSQL are those of production; else long, since a machine that runs tests is busy. */
  productionTimeouts?: boolean
  now?: () => Date
  /** Settings beside the usual ones, or instead of them. */
  env?: Record<string, string>
  /** Replaces how client documents are fetched. */
  documents?: RuntimeDependencies['documents']
  /** The apps that people connect from, and the pages on which they sign in. */
  apps?: RuntimeDependencies['apps']
}

/** A server with stores of its own. */
export async function startAuth(options: StartOptions & { tokens?: TokenPlace } = {}): Promise<RunningAuth> {
  await using opening = new AsyncDisposableStack()
  const stores = opening.use(await openAuthStores(options.tokens))
  const instance = opening.use(await startInstance(stores, options))
  const resources = opening.move()
  return { ...instance, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** A server on stores that others may use too. */
export async function startInstance(stores: AuthStores, options: StartOptions = {}): Promise<RunningAuth> {
  await using opening = new AsyncDisposableStack()
  let handler: RequestListener = (_request, response) => response.writeHead(503).end()
  // The port is part of what the server must accept as Host, so it is bound first.
  const server = opening.use(await serve((request, response) => handler(request, response), ANY_PORT))
  const origin = options.origin === 'loopback' ? server.url : (options.origin ?? ORIGIN)
  const { log, logged } = keepLog()
  const settings = await stores.settingsFor(origin)
  const config = loadConfig({ ...settings, AUTH_ALSO_ACCEPT_HOSTS: new URL(server.url).host, ...options.env })
  const auth = opening.use(
    await openAuth(config, {
      log,
      now: options.now ?? (() => new Date()),
      ...(stores.redis && {
        redisPrefix: stores.redis.prefix,
        revocation: stores.redis.revocation,
      }),
      redisTimeoutMs: options.redisTimeoutMs ?? 3_000,
      ...(!options.productionTimeouts && { databasePatience: 5 }),
      ...(options.documents && { documents: options.documents }),
      ...(options.apps && { apps: options.apps }),
    }),
  )
  const internal = opening.use(await serve(auth.internalApp.callback(), ANY_PORT))
  const operations = opening.use(await serve(auth.operationsApp.callback(), ANY_PORT))
  const respond = auth.publicApp.callback()
  handler = (request, response) => void respond(request, response)
  const resources = opening.move()
  return {
    origin,
    url: server.url,
    internalUrl: internal.url,
    operationsUrl: operations.url,
    stores,
    logged,
    confidential: stores.confidential,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

function keepLog(): { log: Log; logged: string[] } {
  const logged: string[] = []
  return { log: createLog({ service: 'auth', write: (line) => void logged.push(line) }), logged }
}

import type { RequestListener } from 'node:http'
import { createLog, type Log, serve } from '@plainpath/http'
import { TEST_SERVER_OPTIONS } from '@plainpath/http/testing/test-server-options'
import type { Mailer } from '@plainpath/mail'
import { loadConfig } from '../src/config.ts'
import { openAuth, type RuntimeDependencies } from '../src/wire.ts'
import { type AuthTestbed, openAuthTestbed, type TokenStoreKind } from './open-auth-testbed.ts'

export const ORIGIN = 'https://plainpath.example'

/** One instance of the authorization server, in the process of the test. Each of its listeners has a port of its own. */
export interface RunningAuth extends AsyncDisposable {
  /** The public origin, at which a gateway would serve the instance. */
  readonly origin: string
  /** The address of the public listener. */
  readonly url: string
  readonly internalUrl: string
  readonly operationsUrl: string
  readonly testbed: AuthTestbed
  /** Every line that the instance has logged. */
  readonly logged: readonly string[]
  /** The mailer of the instance. A test can run the upkeep of mails instead of waiting for it. */
  readonly mailer: Mailer
  /** The clock of the instance. */
  readonly now: () => Date
  /** Confidential values that the test sent or received. They must not be stored or logged in plaintext. */
  readonly confidential: Set<string>
  /** Confidential codes of six digits. They are not in `confidential`, because their digits can be part of another number. */
  readonly confidentialCodes: Set<string>
}

export interface StartOptions {
  /** The public origin, or `loopback` for the address of the public listener. The default is `ORIGIN`. */
  origin?: string
  /** The timeout of a Redis command. By default 3 s, because test machines can be busy. */
  redisTimeoutMs?: number
  /** Uses the production timeouts for PostgreSQL, not for Redis. By default they are five times as long, for a busy machine. */
  useProductionTimeouts?: boolean
  now?: () => Date
  /** Settings that are added to the usual settings, or replace them. */
  env?: Record<string, string>
  /** Replaces DNS, the trusted certificate authorities and the timeout for fetching client documents. */
  documents?: RuntimeDependencies['documents']
  /** Replaces the function that finds OAuth app clients, or the sign-in pages. */
  apps?: RuntimeDependencies['apps']
}

/** Starts an instance in a testbed of its own. Disposing the result also closes the testbed. */
export async function startAuth(
  options: StartOptions & { tokenStore?: TokenStoreKind } = {},
): Promise<RunningAuth> {
  await using opening = new AsyncDisposableStack()
  const testbed = opening.use(await openAuthTestbed(options.tokenStore))
  const instance = opening.use(await startInstance(testbed, options))
  const resources = opening.move()
  return { ...instance, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** Starts an instance in a testbed that other instances may use too. Disposing the result does not close the testbed. */
export async function startInstance(testbed: AuthTestbed, options: StartOptions = {}): Promise<RunningAuth> {
  await using opening = new AsyncDisposableStack()
  let handler: RequestListener = (_request, response) => response.writeHead(503).end()
  // The port is bound before the settings are created, because they must name it: tests send the listener's address as Host.
  const server = opening.use(
    await serve((request, response) => handler(request, response), TEST_SERVER_OPTIONS),
  )
  const origin = options.origin === 'loopback' ? server.url : (options.origin ?? ORIGIN)
  const { log, logged } = createRecordingLog()
  const { now = () => new Date() } = options
  const settings = await testbed.createSettings(origin)
  const config = loadConfig({ ...settings, AUTH_ALSO_ACCEPT_HOSTS: new URL(server.url).host, ...options.env })
  const auth = opening.use(
    await openAuth(config, {
      log,
      now,
      ...(testbed.redis && {
        redisPrefix: testbed.redis.prefix,
        revocation: testbed.redis.revocation,
      }),
      redisTimeoutMs: options.redisTimeoutMs ?? 3_000,
      ...(!options.useProductionTimeouts && { databasePatience: 5 }),
      ...(options.documents && { documents: options.documents }),
      ...(options.apps && { apps: options.apps }),
    }),
  )
  const internal = opening.use(await serve(auth.internalApp.callback(), TEST_SERVER_OPTIONS))
  const operations = opening.use(await serve(auth.operationsApp.callback(), TEST_SERVER_OPTIONS))
  const respond = auth.publicApp.callback()
  handler = (request, response) => void respond(request, response)
  const resources = opening.move()
  return {
    origin,
    url: server.url,
    internalUrl: internal.url,
    operationsUrl: operations.url,
    testbed,
    logged,
    now,
    mailer: auth.mailer,
    confidential: testbed.confidential,
    confidentialCodes: testbed.confidentialCodes,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

function createRecordingLog(): { log: Log; logged: string[] } {
  const logged: string[] = []
  return { log: createLog({ service: 'auth', write: (line) => void logged.push(line) }), logged }
}

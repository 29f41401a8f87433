import { randomUUID } from 'node:crypto'
import type { RevocationOptions } from '@plainpath/revocation'
import type { RequestAuthorizationServer } from '../auth/authorization-server-client.ts'
import { authorizationServerKeys } from '../auth/authorization-server-keys.ts'
import { cachedIntrospection } from '../auth/cached-introspection.ts'
import { guardIntrospection } from '../auth/guard-introspection.ts'
import { type IntrospectionMetrics, introspectionClient } from '../auth/introspection-client.ts'
import { type RevocationSubscriber, revocationSubscriber } from '../auth/revocation-subscriber.ts'
import type { WatchedClientSecret } from '../auth/watch-client-secret.ts'
import type { Config } from '../config.ts'

/** After this time even a revocation that failed midway, with the response 503, is in force. */
const CACHE_MS = 30_000
const MAX_CACHED = 10_000

/** Creates the introspection cache. It is used once `followRevocations` has subscribed it. */
export const createSubscriber = ({ intervals }: RevocationOptions): RevocationSubscriber =>
  revocationSubscriber({
    name: randomUUID(),
    leaseMs: intervals.leaseMs,
    cacheMs: CACHE_MS,
    maxCached: MAX_CACHED,
  })

/** Creates introspection for the bearer check. With Redis it uses the cache while the lease is valid. */
export function createIntrospection(
  { clientId, limitsFactor }: Config,
  deps: {
    requestServer: RequestAuthorizationServer
    issuer: string
    clientSecret: WatchedClientSecret
    subscriber: RevocationSubscriber | undefined
    metrics: IntrospectionMetrics
    now: () => Date
    timeoutMs: number | undefined
  },
) {
  const { requestServer, issuer, clientSecret, subscriber, metrics, now, timeoutMs } = deps
  const keys = authorizationServerKeys(requestServer, { timeoutMs })
  const clientOptions = { requestServer, issuer, clientId, clientSecret, keys, metrics, now, timeoutMs }
  const introspect = guardIntrospection({
    introspect: introspectionClient(clientOptions),
    factor: limitsFactor,
    now,
  })
  // The e-mail address is never cached.
  const introspectWithEmail = introspectionClient({ ...clientOptions, claims: 'email' })
  const cached = subscriber && cachedIntrospection({ introspect, subscriber, clock: performance, metrics })
  return {
    introspect: cached?.introspect ?? introspect,
    introspectWithEmail,
    findCached: cached?.findCached ?? (() => undefined),
  }
}

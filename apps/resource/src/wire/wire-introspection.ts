import { randomUUID } from 'node:crypto'
import { estimateEntryBytes } from '@plainpath/domain'
import { MAX_INTROSPECTION_AGE_MS, type RevocationOptions } from '@plainpath/revocation'
import type { RequestAuthorizationServer } from '../auth/authorization-server-client.ts'
import { createAuthorizationServerKeys } from '../auth/authorization-server-keys.ts'
import { cacheIntrospection } from '../auth/cache-introspection.ts'
import { guardIntrospection } from '../auth/guard-introspection.ts'
import { createIntrospectionClient, type IntrospectionMetrics } from '../auth/introspection-client.ts'
import { createRevocationSubscriber, type RevocationSubscriber } from '../auth/revocation-subscriber.ts'
import type { WatchedClientSecret } from '../auth/watch-client-secret.ts'
import type { Config } from '../config.ts'

/** Enough for about 10,000 introspections (estimated by `estimateEntryBytes`). */
const MAX_CACHED_BYTES = 10_000_000

/** Creates the subscriber to revocations, which holds the introspection cache. It caches nothing until `followRevocations` has subscribed it. */
export const createSubscriber = ({ intervals }: RevocationOptions): RevocationSubscriber =>
  createRevocationSubscriber({
    name: randomUUID(),
    leaseMs: intervals.leaseMs,
    cacheMs: MAX_INTROSPECTION_AGE_MS,
    maxCachedBytes: MAX_CACHED_BYTES,
    estimateEntryBytes,
  })

/** Creates the introspection functions. With Redis, `introspect` uses the cache while the revocation lease is valid. */
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
  const keys = createAuthorizationServerKeys(requestServer, { timeoutMs })
  const clientOptions = { requestServer, issuer, clientId, clientSecret, keys, metrics, now, timeoutMs }
  const introspect = guardIntrospection({
    introspect: createIntrospectionClient(clientOptions),
    factor: limitsFactor,
    now,
  })
  // The e-mail address is never cached.
  const introspectWithEmail = createIntrospectionClient({ ...clientOptions, claims: 'email' })
  const cache = subscriber && cacheIntrospection({ introspect, subscriber, clock: performance, metrics })
  return {
    introspect: cache?.introspect ?? introspect,
    introspectWithEmail,
    findCached: cache?.findCached ?? (() => undefined),
  }
}

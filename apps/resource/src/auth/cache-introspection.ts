import { sha256Base64url } from '@plainpath/sealing'
import type { ActiveIntrospection, IntrospectFor, Introspection } from './introspection.ts'
import type { IntrospectionMetrics } from './introspection-client.ts'
import type { InFlightIntrospection, RevocationSubscriber } from './revocation-subscriber.ts'

/**
 * Wraps `introspect` with a cache that may be used only under a valid revocation lease. Under the lease, a token is introspected
 * only if its introspection is neither cached nor in flight. Without the lease, it is introspected for every request. Only active
 * tokens are cached. An inactive token is introspected again for a later request, so that `introspect` can limit the addresses
 * that send such tokens.
 *
 * @param deps.clock the monotonic clock of the subscriber's lease, in milliseconds
 */
export function cacheIntrospection(deps: {
  introspect: IntrospectFor
  subscriber: Pick<RevocationSubscriber, 'beginIntrospection' | 'findCached' | 'finishIntrospection'>
  clock: { now(): number }
  metrics: Pick<IntrospectionMetrics, 'countSource'>
}): { introspect: IntrospectFor; findCached: (token: string) => ActiveIntrospection | undefined } {
  const { introspect, subscriber, clock, metrics } = deps
  const pendingResults = new WeakMap<InFlightIntrospection, Promise<Introspection>>()

  async function introspectAndCache(token: string, address: string, inFlight: InFlightIntrospection) {
    let introspection: Introspection | undefined
    try {
      introspection = await introspect(token, address)
      return introspection
    } finally {
      subscriber.finishIntrospection(inFlight, introspection, clock.now())
    }
  }

  return {
    async introspect(token, address) {
      const source = subscriber.beginIntrospection(sha256Base64url(token), clock.now())
      metrics.countSource(source.from)
      if (source.from === 'cache') return source.introspection
      if (source.from === 'uncached') return introspect(token, address)
      // If another request began the introspection, it has stored its promise.
      const sharedResult = pendingResults.get(source.inFlight)
      if (sharedResult) return sharedResult
      const pendingResult = introspectAndCache(token, address, source.inFlight)
      pendingResults.set(source.inFlight, pendingResult)
      return pendingResult
    },
    // A miss is not counted here, because the caller then calls `introspect`, which counts it.
    findCached(token) {
      const introspection = subscriber.findCached(sha256Base64url(token), clock.now())
      if (introspection) metrics.countSource('cache')
      return introspection
    },
  }
}

import { sha256 } from '@plainpath/sealing'
import type { ActiveIntrospection, IntrospectFor, Introspection } from './introspection.ts'
import type { IntrospectionMetrics } from './introspection-client.ts'
import type { InFlight, RevocationSubscriber } from './revocation-subscriber.ts'

/**
 * Introspects a token only when neither the cache nor an introspection in flight has the result. Only active tokens are cached:
 * each request with an inactive token is introspected, so that it can be counted and limited.
 *
 * @param deps.clock the subscriber's: milliseconds of a monotonic clock
 */
export function cachedIntrospection(deps: {
  introspect: IntrospectFor
  subscriber: Pick<RevocationSubscriber, 'begin' | 'finish' | 'find'>
  clock: { now(): number }
  metrics: Pick<IntrospectionMetrics, 'source'>
}): { introspect: IntrospectFor; findCached: (token: string) => ActiveIntrospection | undefined } {
  const { introspect, subscriber, clock, metrics } = deps
  const results = new WeakMap<InFlight, Promise<Introspection>>()

  async function introspectAndCache(token: string, address: string, inFlight: InFlight) {
    let result: Introspection | undefined
    try {
      result = await introspect(token, address)
      return result
    } finally {
      subscriber.finish(inFlight, result, clock.now())
    }
  }

  const tokenHash = (token: string) => sha256(token).toString('base64url')

  return {
    async introspect(token, address) {
      const source = subscriber.begin(tokenHash(token), clock.now())
      metrics.source(source.from)
      if (source.from === 'cache') return source.introspection
      if (source.from === 'uncached') return introspect(token, address)
      const shared = results.get(source.inFlight)
      if (shared) return shared
      const result = introspectAndCache(token, address, source.inFlight)
      results.set(source.inFlight, result)
      return result
    },
    findCached(token) {
      const introspection = subscriber.find(tokenHash(token), clock.now())
      if (introspection) metrics.source('cache')
      return introspection
    },
  }
}

import type { Metrics } from '@plainpath/http'
import { MAX_AT_ONCE } from './introspection-client.ts'
import type { Asked } from './revocation-member.ts'

/** Shows how answers about tokens were had, and whether memory may be used. */
export function introspectionMetrics(metrics: Pick<Metrics, 'counter' | 'gauge' | 'sampled'>) {
  const hit = metrics.counter('introspection_cache_hits_total', 'Tokens whose answer was in memory')
  const shared = metrics.counter('introspection_cache_shared_total', 'Tokens whose look-up was under way')
  const miss = metrics.counter(
    'introspection_cache_misses_total',
    'Tokens that were introspected under a lease',
  )
  const alone = metrics.counter(
    'introspection_cache_bypassed_total',
    'Tokens that were introspected since no lease was valid',
  )
  const lease = metrics.gauge('revocation_lease_valid', '1 when answers in memory may be used')
  lease(0)
  const underWay = { token: 0, email: 0 }
  metrics.sampled(
    'introspections_under_way',
    `Introspections without an answer yet, of a token and of its e-mail address; ${MAX_AT_ONCE} of each at most`,
    'about',
    () => underWay,
  )
  const count: Record<Asked['how'], () => void> = { kept: hit, shared, new: miss, alone }
  return {
    onAsked: (how: Asked['how']) => count[how](),
    onUnderWay: (about: keyof typeof underWay) => (now: number) => {
      underWay[about] = now
    },
    onLease: (valid: boolean) => lease(valid ? 1 : 0),
    onFailure: metrics.counter(
      'authorization_server_failures_total',
      'Introspections without an answer that can be believed',
    ),
  }
}

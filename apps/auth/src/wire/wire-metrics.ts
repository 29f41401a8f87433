import { createMetrics, poolMetrics } from '@plainpath/http'
import type { AuthEvents } from '../events.ts'
import { keyMetrics } from '../keys/key-follower.ts'
import { revocationMetrics } from '../revocation/revocation-metrics.ts'
import type { Stores } from '../stores.ts'

/** What the authorization server counts, beside its requests, limits and mail. */
export function openMetrics(events: AuthEvents) {
  const metrics = createMetrics('auth')
  const issued = metrics.counter('tokens_issued_total', 'Tokens issued, under each of their scopes', [
    'scope',
  ])
  events.on('token-issued', ({ scopes }) => {
    for (const scope of scopes) issued({ scope })
  })
  events.on('swept', ({ what }) => metrics.swept(what))
  revocationMetrics(metrics, events)
  return Object.assign(metrics, {
    onKeyStatus: keyMetrics(metrics),
    watchPool: (db: Pick<Stores['db'], 'usage'>) => poolMetrics(metrics, db),
  })
}

import { createMetrics, type PoolUsage, poolMetrics } from '@plainpath/http'
import { keyMetrics } from '../keys/key-follower.ts'
import { revocationMetrics } from '../revocation/revocation-metrics.ts'

/** What the authorization server counts, beside its requests, limits and mail. */
export function openMetrics() {
  const metrics = createMetrics('auth')
  const issued = metrics.counter('tokens_issued_total', 'Tokens issued, under each of their scopes', [
    'scope',
  ])
  return Object.assign(metrics, {
    onAnnounced: revocationMetrics(metrics),
    onKeyStatus: keyMetrics(metrics),
    onIssued: (scopes: readonly string[]) => {
      for (const scope of scopes) issued({ scope })
    },
    watchPool: (db: { usage(): PoolUsage }) => poolMetrics(metrics, db),
  })
}

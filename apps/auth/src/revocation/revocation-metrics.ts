import type { Metrics } from '@plainpath/http'
import type { AuthEvents } from '../events.ts'

/** Shows how long it takes until no API uses from memory what ended. */
export function revocationMetrics(metrics: Pick<Metrics, 'histogram' | 'counter'>, events: AuthEvents): void {
  const seconds = metrics.histogram(
    'revocation_announcement_seconds',
    'Time from a revocation until the last API had acknowledged it, or its lease had run out',
    [0.002, 0.005, 0.01, 0.05, 0.25, 1, 2.5],
  )
  const silent = metrics.counter(
    'revocation_members_struck_off_total',
    'API processes that did not acknowledge a revocation within a lease',
  )
  events.on('end-announced', (announced) => {
    seconds(announced.seconds)
    for (let each = 0; each < announced.struckOff; each += 1) silent()
  })
}

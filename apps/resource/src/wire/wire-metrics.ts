import { createMetrics, type Metrics, type PoolUsage, poolMetrics } from '@plainpath/http'

/** What every app counts, and the connections of this one. */
export function openMetrics(db: { usage(): PoolUsage }): Metrics {
  const metrics = createMetrics('resource')
  poolMetrics(metrics, db)
  return metrics
}

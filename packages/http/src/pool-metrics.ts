import type { Metrics } from './metrics.ts'

/** How a pool of connections is used now. */
export interface PoolUsage {
  /** Connections that work for somebody. */
  readonly inUse: number
  readonly idle: number
  /** Those who wait for a connection. */
  readonly waiting: number
  readonly max: number
}

/** `database_pool`: connections in use and idle, who waits for one, and how many there may be. */
export function poolMetrics(metrics: Pick<Metrics, 'sampled'>, pool: { usage(): PoolUsage }): void {
  metrics.sampled(
    'database_pool',
    'Connections to PostgreSQL by state, and who waits for one',
    'state',
    () => {
      const { inUse, idle, waiting, max } = pool.usage()
      return { in_use: inUse, idle, waiting, max }
    },
  )
}

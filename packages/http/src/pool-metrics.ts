import type { Metrics } from './metrics.ts'

/** How a pool of connections is used now. */
export interface PoolUsage {
  /** Connections that work for somebody. */
  readonly inUse: number
  readonly idle: number
  /** Those who wait for a connection. */
  readonly waiting: number
  /** Those who were turned away, since the pool was opened: too many waited. */
  readonly shed: number
  /** Those whom the server did not serve, since the pool was opened. */
  readonly failed: number
  readonly max: number
}

/**
 * `database_pool`: connections in use and idle, who waits for one, and how many there may be; `database_shed_total`, who
 * was turned away since too many waited; and `database_failures_total`, who was not served otherwise.
 */
export function poolMetrics(
  metrics: Pick<Metrics, 'sampled' | 'tallied'>,
  pool: { usage(): PoolUsage },
): void {
  metrics.sampled(
    'database_pool',
    'Connections to PostgreSQL by state, and who waits for one',
    'state',
    () => {
      const { inUse, idle, waiting, max } = pool.usage()
      return { in_use: inUse, idle, waiting, max }
    },
  )
  metrics.tallied(
    'database_shed_total',
    'Uses of PostgreSQL that were refused at once, since too many waited for a connection',
    () => pool.usage().shed,
  )
  metrics.tallied(
    'database_failures_total',
    'Uses of PostgreSQL that failed since it did not answer: no connection, one that was lost, a time-out',
    () => pool.usage().failed,
  )
}

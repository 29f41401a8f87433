import type { AppName } from '@plainpath/metadata'
import type { PathSeries } from '../run-rounds.ts'
import type { TokensInRedis } from './seed-redis.ts'
import type { Size } from './sizes.ts'

/** What was measured with so many agents, live tokens and waitlist entries. */
export interface Level {
  readonly rows: number
  readonly series: readonly PathSeries[]
  /** Resident memory, in bytes. */
  readonly memory: Readonly<Record<AppName | 'redis', number>>
  readonly redis: TokensInRedis
  readonly sizes: readonly Size[]
}

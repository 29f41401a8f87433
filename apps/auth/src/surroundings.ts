import type { Log } from '@plainpath/http'
import type { RevocationOptions } from '@plainpath/revocation'
import type { AnnounceDeps } from './revocation/announce-end.ts'
import type { TellSecurityEvent } from './security-events.ts'
import type { SweepDeps } from './sweep-regularly.ts'

/** What a process brings, beside its settings. */
export interface Surroundings {
  log: Log
  now: () => Date
  /** Of every key in Redis, where it is to be another than `auth:`. */
  redisPrefix?: string
  /** How long Redis may take to answer, where it is to be another time than 200 ms. */
  redisTimeoutMs?: number
  /** Gets a line with the link of each mail, where mail becomes files. */
  announce?: (line: string) => void
  /** The revocation channel and intervals that both apps share; `REVOCATION` when absent. */
  revocation?: RevocationOptions
  onAnnounced?: AnnounceDeps['onAnnounced']
  /** Told of what ends; of all else `withSecurityEvents` tells. */
  tell?: TellSecurityEvent
  onSwept?: SweepDeps['onSwept']
}

import type { Agent } from '@plainpath/domain'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How long agents live, in milliseconds. Clients are told these times when they register. */
export const LIFE = {
  /** Of an agent that never got a token, from its registration. */
  neverUsedMs: 7 * DAY_MS,
  /** Of another one, from its last token. */
  idleMs: 90 * DAY_MS,
  /** How often it is written down that an agent is used: longer than a token lives, so that none is forgotten. */
  markMs: DAY_MS,
  /** No flood ends an agent that is younger. */
  floodMs: HOUR_MS,
  /** How long its owner is told that it expired. */
  tombstoneMs: 90 * DAY_MS,
  /** How long the old secret is accepted beside a new one. */
  oldSecretMs: 7 * DAY_MS,
} as const

/** When the agent ends unless it gets a token before; a day later than it must, since use is written down so coarsely. */
export const idleExpiry = ({ registeredAt, lastUsedAt }: Pick<Agent, 'registeredAt' | 'lastUsedAt'>): Date =>
  lastUsedAt
    ? new Date(lastUsedAt.getTime() + LIFE.markMs + LIFE.idleMs)
    : new Date(registeredAt.getTime() + LIFE.neverUsedMs)

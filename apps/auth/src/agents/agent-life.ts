import { type Agent, RULES } from '@plainpath/domain'

/** How long agents live, in milliseconds. Clients are told these times when they register. */
export const LIFE = {
  /** Of an agent that never got a token, from its registration. */
  neverUsedMs: RULES.neverUsedMs,
  /** Of another one, from its last token. */
  idleMs: RULES.idleMs,
  /** How often it is written down that an agent is used: longer than a token lives, so that none is forgotten. */
  markMs: RULES.useRecordedMs,
  /** No flood ends an agent that is younger. */
  floodMs: RULES.floodMs,
  /** How long its owner is told that it expired. */
  tombstoneMs: RULES.tombstoneMs,
  /** How long the old secret is accepted beside a new one. */
  oldSecretMs: RULES.oldSecretMs,
} as const

/** When the agent ends unless it gets a token before; a day later than it must, since use is written down so coarsely. */
export const idleExpiry = ({ registeredAt, lastUsedAt }: Pick<Agent, 'registeredAt' | 'lastUsedAt'>): Date =>
  lastUsedAt
    ? new Date(lastUsedAt.getTime() + LIFE.markMs + LIFE.idleMs)
    : new Date(registeredAt.getTime() + LIFE.neverUsedMs)

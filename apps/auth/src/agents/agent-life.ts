import { type Agent, RULES } from '@plainpath/domain'

/** When the agent ends unless it gets a token before; a day later than it must, since use is written down so coarsely. */
export const idleExpiry = ({ registeredAt, lastUsedAt }: Pick<Agent, 'registeredAt' | 'lastUsedAt'>): Date =>
  lastUsedAt
    ? new Date(lastUsedAt.getTime() + RULES.useRecordedMs + RULES.idleMs)
    : new Date(registeredAt.getTime() + RULES.neverUsedMs)

import { type AgentKey, createAgentKey } from '../agent-key.ts'
import { random } from './random.ts'

/** An agent whose registration got a 201. */
export interface KnownAgent {
  readonly id: string
  readonly secret: string
  readonly registeredAt: number
  /** The number of requests in flight with its credentials. */
  busy: number
  /** When its deletion was requested. Until `endedAt` is set, its outcome is unknown. */
  endRequestedAt?: number
  /** When its deletion got a 204. */
  endedAt?: number
}

/** A person's sign-in with the app of the ledger. */
export interface KnownConnection {
  /** The newest one that was acknowledged. */
  refreshToken: string
  /** When a refresh began that got no tokens: the refresh token may be used up, and works again for the grace alone. */
  refreshingSince?: number | undefined
  busy: number
  endRequestedAt?: number
  endedAt?: number
}

/** A token that was issued (200). */
export interface KnownToken {
  readonly value: string
  /** The agent, or the connection of a person, that it ends with. */
  readonly owner: KnownAgent | KnownConnection
  /** Whether it is bound to the key of `Ledger.key`. */
  readonly isBound: boolean
  /** When the token was requested. */
  readonly requestedAt: number
  endRequestedAt?: number
  endedAt?: number
}

/** Records what the service acknowledged to its clients. Times are those of `Answer`. */
export interface Ledger {
  readonly agents: KnownAgent[]
  /** The app that people signed in with; undefined without people. */
  readonly appId: string | undefined
  readonly connections: KnownConnection[]
  readonly tokens: KnownToken[]
  /** Those of `tokens` for which, and for whose owners, no revocation was requested. */
  readonly liveTokens: KnownToken[]
  readonly endedTokens: KnownToken[]
  readonly addresses: { readonly email: string; readonly joinedAt: number }[]
  /** The times at which the token store lost its data, from before the loss to after it. */
  readonly losses: { readonly from: number; readonly to: number }[]
  /** The results of health checks that were seen, such as `database failed`. */
  readonly health: Set<string>
  /** Slugs of guides, all published. */
  readonly guides: readonly string[]
  /** The address of the service, which DPoP proofs contain. */
  readonly origin: string
  /** Signs the proofs of all agents. */
  readonly key: AgentKey
  /** The last `DPoP-Nonce` of the token endpoint. */
  nonce?: string | undefined
}

/** Tells whether it is the token of a person, which is for the signed-in MCP address. */
export const isPersons = (token: KnownToken): token is KnownToken & { readonly owner: KnownConnection } =>
  'refreshToken' in token.owner

export const newLedger = (origin: string, guides: readonly string[], appId?: string): Ledger => ({
  origin,
  appId,
  connections: [],
  key: createAgentKey(),
  agents: [],
  tokens: [],
  liveTokens: [],
  endedTokens: [],
  addresses: [],
  losses: [],
  health: new Set(),
  guides,
})

export const endedAt = (token: KnownToken) =>
  Math.min(token.endedAt ?? Number.POSITIVE_INFINITY, token.owner.endedAt ?? Number.POSITIVE_INFINITY)

/** Tells whether the revocation of the token or the end of its owner was requested by `at`. */
export const isEndRequested = (token: KnownToken, at: number) =>
  [token.endRequestedAt, token.owner.endRequestedAt].some((from) => from !== undefined && from <= at)

/** Tells whether the store lost its data after the token was requested and before `at`. */
export const mayBeLost = ({ losses }: Ledger, token: KnownToken, at: number) =>
  losses.some(({ from, to }) => token.requestedAt <= to && from <= at)

export function removeLiveToken(ledger: Ledger, token: KnownToken): void {
  const index = ledger.liveTokens.indexOf(token)
  if (index >= 0) ledger.liveTokens.splice(index, 1)
}

/** Records that the token store loses its data while `lose` runs, and forgets the live tokens from before. */
export async function recordTokenLoss(ledger: Ledger, lose: () => Promise<void>): Promise<void> {
  const loss = { from: performance.now(), to: Number.POSITIVE_INFINITY }
  ledger.losses.push(loss)
  await lose()
  loss.to = performance.now()
  const kept = ledger.liveTokens.filter((token) => token.requestedAt > loss.to)
  ledger.liveTokens.splice(0, Number.POSITIVE_INFINITY, ...kept)
}

/** Like `recordTokenLoss`, but the loss lasts until the returned function is called. */
export function startTokenLoss(ledger: Ledger): () => Promise<void> {
  const over = Promise.withResolvers<void>()
  const lost = recordTokenLoss(ledger, () => over.promise)
  return () => {
    over.resolve()
    return lost
  }
}

export function pickRandom<T>(list: readonly T[]): T | undefined {
  return list[Math.floor(random() * list.length)]
}

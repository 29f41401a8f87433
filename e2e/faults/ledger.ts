import { type AgentKey, createAgentKey } from '../agent-key.ts'
import { random } from './random.ts'

/** An agent whose registration was acknowledged (201). */
export interface KnownAgent {
  readonly id: string
  readonly secret: string
  readonly registeredAt: number
  /** The number of requests in flight that the agent sent. */
  requestsInFlight: number
  /** The time at which the deletion was requested. Until `deletedAt` is set, the outcome is unknown. */
  deletionRequestedAt?: number
  /** The time at which the deletion was acknowledged (204). */
  deletedAt?: number
}

/** A person's connection to the app of the ledger. */
export interface KnownConnection {
  /** The newest refresh token that the app received. */
  refreshToken: string
  /**
   * The start of the first refresh with `refreshToken` that has not succeeded. If the response or a reply of PostgreSQL was lost,
   * the service may have used up the token, which then works only within its grace period.
   */
  refreshingSince?: number | undefined
  requestsInFlight: number
  /** The time at which the revocation was requested. Until `revokedAt` is set, the outcome is unknown. */
  revocationRequestedAt?: number
  /** The time at which the revocation was acknowledged (200). */
  revokedAt?: number
}

/** A token that was issued (200). */
export interface KnownToken {
  readonly value: string
  /** The agent, or the connection of a person. Deleting the agent or revoking the connection revokes the token. */
  readonly owner: KnownAgent | KnownConnection
  /** True if the token is bound to `Ledger.key`. */
  readonly isBound: boolean
  /** The time at which the token was requested. */
  readonly requestedAt: number
  /** The time at which the revocation of this token itself was requested. */
  revocationRequestedAt?: number
  /** The time at which that revocation was acknowledged (200). */
  revokedAt?: number
}

/** The changes that the service acknowledged to its clients. All times are from `performance.now()`. */
export interface Ledger {
  readonly agents: KnownAgent[]
  /** The app with which people signed in; undefined without people. */
  readonly appId: string | undefined
  readonly connections: KnownConnection[]
  readonly tokens: KnownToken[]
  /**
   * The tokens that the load uses as valid ones: their revocation has not been requested, nor that of their connection, nor the
   * deletion of their agent. After a data loss, older tokens are removed from this list.
   */
  readonly liveTokens: KnownToken[]
  /**
   * The tokens that must be invalid, because their own revocation, that of their connection or the deletion of their agent was
   * acknowledged.
   */
  readonly revokedTokens: KnownToken[]
  /** The addresses whose joining of the waitlist was acknowledged (201). */
  readonly addresses: { readonly email: string; readonly joinedAt: number }[]
  /** The periods in which the token store lost its data. During a loss, `to` is infinity. */
  readonly losses: { readonly from: number; readonly to: number }[]
  /** The observed results of health checks, such as `database failed`. */
  readonly health: Set<string>
  /** Slugs of published guides. */
  readonly guides: readonly string[]
  /** The address of the service, which DPoP proofs contain. */
  readonly origin: string
  /** Signs the proofs of all agents. */
  readonly key: AgentKey
  /** The last `DPoP-Nonce` of the token endpoint. */
  nonce?: string | undefined
}

/** Returns whether a token belongs to a person, so that it is valid at the signed-in MCP address. */
export const belongsToPerson = (
  token: KnownToken,
): token is KnownToken & { readonly owner: KnownConnection } => 'refreshToken' in token.owner

/** Creates an empty ledger with a new key for proofs. */
export const createLedger = (origin: string, guides: readonly string[], appId?: string): Ledger => ({
  origin,
  appId,
  connections: [],
  key: createAgentKey(),
  agents: [],
  tokens: [],
  liveTokens: [],
  revokedTokens: [],
  addresses: [],
  losses: [],
  health: new Set(),
  guides,
})

/** Returns when the deletion of a token's agent, or the revocation of its connection, was requested and acknowledged. */
const getOwnerTimes = ({ owner }: KnownToken) =>
  'refreshToken' in owner
    ? { requestedAt: owner.revocationRequestedAt, acknowledgedAt: owner.revokedAt }
    : { requestedAt: owner.deletionRequestedAt, acknowledgedAt: owner.deletedAt }

/**
 * Returns the time from which a token must be invalid, because its own revocation, that of its connection or the deletion of its
 * agent had been acknowledged; infinity if none was.
 */
export const getRevokedAt = (token: KnownToken) =>
  Math.min(
    token.revokedAt ?? Number.POSITIVE_INFINITY,
    getOwnerTimes(token).acknowledgedAt ?? Number.POSITIVE_INFINITY,
  )

/** Returns whether the revocation of a token or of its connection, or the deletion of its agent, was requested by `at`. */
export const isRevocationRequested = (token: KnownToken, at: number) =>
  [token.revocationRequestedAt, getOwnerTimes(token).requestedAt].some(
    (from) => from !== undefined && from <= at,
  )

/**
 * Returns whether the store may have lost a token by `at`: a loss began by then, and the token was requested before it ended.
 */
export const mayBeLost = ({ losses }: Ledger, token: KnownToken, at: number) =>
  losses.some(({ from, to }) => token.requestedAt <= to && from <= at)

export function removeLiveToken(ledger: Ledger, token: KnownToken): void {
  const index = ledger.liveTokens.indexOf(token)
  if (index >= 0) ledger.liveTokens.splice(index, 1)
}

/** Records that the token store loses its data while `loseData` runs. Then removes older tokens from the live ones. */
export async function recordTokenLoss(ledger: Ledger, loseData: () => Promise<void>): Promise<void> {
  const loss = { from: performance.now(), to: Number.POSITIVE_INFINITY }
  ledger.losses.push(loss)
  await loseData()
  loss.to = performance.now()
  const newTokens = ledger.liveTokens.filter((token) => token.requestedAt > loss.to)
  ledger.liveTokens.splice(0, Number.POSITIVE_INFINITY, ...newTokens)
}

/** Like `recordTokenLoss`, but the loss lasts until the returned function is called. */
export function startTokenLoss(ledger: Ledger): () => Promise<void> {
  const ending = Promise.withResolvers<void>()
  const loss = recordTokenLoss(ledger, () => ending.promise)
  return () => {
    ending.resolve()
    return loss
  }
}

/** Picks an element at random. Returns undefined for an empty list. */
export function pickRandom<T>(list: readonly T[]): T | undefined {
  return list[Math.floor(random() * list.length)]
}

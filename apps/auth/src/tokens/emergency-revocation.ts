import { ok, type Result } from '@plainpath/domain'
import type { Actor } from '../audit/audit-chain.ts'
import type { RevocationPublisher } from '../revocation/revocation-publisher.ts'
import type {
  EmergencyRevocationStore,
  RevocationEffect,
  RevocationScope,
} from './emergency-revocation-store.ts'
import {
  CANARY_AUDIENCE,
  isBelowCutoff,
  type TokenCutoff,
  type TokenRecord,
  type TokenStore,
} from './token-store.ts'

/** The effect of a revocation, or of a dry run, as the command `stop` reports it. */
export interface RevocationEvidence {
  readonly effect: RevocationEffect
  /** The hash of the newest audit row after the revocation, base64url; undefined for a dry run. */
  readonly auditHead: string | undefined
  /** How long the revocation took. The time for counting the tokens is not included. */
  readonly elapsedMs: number
  /** The cutoff in the token store after the revocation; undefined for a dry run. */
  readonly confirmedCutoff: TokenCutoff | undefined
  /**
   * The number of stored tokens that this revocation covers, without canaries and without tokens below the previous cutoff. It is
   * approximate: a store may yield a token twice, an expired token, or a token that was revoked with its client or verification.
   * `countedAll` is false if counting stopped after 10 s.
   */
  readonly revoked: { readonly tokens: number; readonly countedAll: boolean }
}

/**
 * How far a revocation had got when it failed.
 *
 * - `not-committed`: PostgreSQL committed no revocation (at most, an epoch was reserved), but the token store may have changed.
 * - `unknown`: PostgreSQL may have committed.
 * - `committed`: PostgreSQL committed.
 */
export type RevocationProgress = 'not-committed' | 'unknown' | 'committed'

/**
 * The error of a revocation that failed midway: some of the tokens may still be accepted. Repeating the revocation is safe. A
 * failed dry run throws it too, with `not-committed`.
 */
export class UnconfirmedRevocation extends Error {
  override readonly name = 'UnconfirmedRevocation'
  readonly progress: RevocationProgress
  /** As in `RevocationEvidence`; undefined unless `progress` is `committed`. */
  readonly auditHead: string | undefined

  constructor(
    progress: RevocationProgress,
    { auditHead, ...options }: ErrorOptions & { readonly auditHead?: string | undefined },
  ) {
    super(`the revocation was not confirmed; its state in PostgreSQL: ${progress}`, options)
    this.progress = progress
    this.auditHead = auditHead
  }
}

interface EmergencyRevocationDeps {
  readonly emergencyRevocations: EmergencyRevocationStore
  readonly tokens: Pick<TokenStore, 'readCutoff' | 'raiseCutoff' | 'revokeTokensOf' | 'iterateAll'>
  readonly actor: Actor
  readonly revocationPublisher: Pick<RevocationPublisher, 'publish'>
}

const MAX_COUNTING_MS = 10_000

/**
 * Revokes the tokens in a scope. After it returns, no API accepts any of them in a new request, not even a token that a process
 * with a stale cache saves later (R-LIN).
 *
 * As in `change-and-revoke.ts`, the token store is changed before the commit and again after it, because Redis may have lost
 * the change in between and loaded the old values from PostgreSQL again. If the process is killed midway, the revocation can be
 * repeated.
 *
 * @param options.dryRun true to count the tokens and change nothing
 * @returns the evidence, or a sentence that says why the revocation was refused
 * @throws {UnconfirmedRevocation} if a store fails, or the revocation cannot be published to the APIs
 */
export async function revokeInEmergency(
  { emergencyRevocations, tokens, actor, revocationPublisher }: EmergencyRevocationDeps,
  scope: RevocationScope,
  { reason, dryRun = false }: { reason: string; dryRun?: boolean | undefined },
): Promise<Result<RevocationEvidence, string>> {
  const startedAt = performance.now()
  let progress: RevocationProgress = 'not-committed'
  let auditHead: string | undefined
  const applyBeforeCommit = async (effect: RevocationEffect) => {
    await applyToTokenStore(tokens, effect)
    progress = 'unknown'
  }
  try {
    const epoch =
      scope.kind === 'all-tokens' && !dryRun ? await emergencyRevocations.reserveEpoch() : undefined
    const applied = await emergencyRevocations.revoke(
      scope,
      { actor, reason, epoch, dryRun },
      applyBeforeCommit,
    )
    if (!applied.ok) return applied
    const { previousCutoff, effect } = applied.value
    auditHead = applied.value.auditHead
    if (!dryRun) {
      progress = 'committed'
      await applyToTokenStore(tokens, effect)
      // A notification can only name one client or everything, so each cutoff publishes `everything`, even one that revokes only
      // tokens issued before a time.
      await revocationPublisher.publish(
        effect.kind === 'cutoff' ? { kind: 'everything' } : { kind: 'client', id: effect.clientId },
      )
    }
    const confirmedCutoff = dryRun ? undefined : await tokens.readCutoff()
    const elapsedMs = Math.round(performance.now() - startedAt)
    const revoked = await countRevoked(tokens, { previousCutoff, effect })
    return ok({ effect, auditHead, elapsedMs, confirmedCutoff, revoked })
  } catch (cause) {
    throw new UnconfirmedRevocation(progress, { cause, auditHead })
  }
}

const applyToTokenStore = (tokens: EmergencyRevocationDeps['tokens'], effect: RevocationEffect) =>
  effect.kind === 'cutoff'
    ? tokens.raiseCutoff(effect.cutoff)
    : tokens.revokeTokensOf({
        kind: 'client',
        id: effect.clientId,
        credentialVersion: effect.credentialVersion,
      })

interface AppliedEffect {
  readonly previousCutoff: TokenCutoff
  readonly effect: RevocationEffect
}

async function countRevoked(
  tokens: EmergencyRevocationDeps['tokens'],
  applied: AppliedEffect,
): Promise<RevocationEvidence['revoked']> {
  const deadline = performance.now() + MAX_COUNTING_MS
  let count = 0
  for await (const batch of tokens.iterateAll()) {
    count += batch.filter((token) => isNewlyRevokedBy(token, applied)).length
    if (performance.now() > deadline) return { tokens: count, countedAll: false }
  }
  return { tokens: count, countedAll: true }
}

/**
 * Returns whether to count the token: it is not a canary, not below the previous cutoff, and covered by this revocation. For one
 * client, only the last credential version counts, because tokens of older versions were revoked before.
 */
const isNewlyRevokedBy = (token: TokenRecord, { previousCutoff, effect }: AppliedEffect): boolean =>
  token.audience !== CANARY_AUDIENCE &&
  !isBelowCutoff(token, previousCutoff) &&
  (effect.kind === 'cutoff'
    ? isBelowCutoff(token, effect.cutoff)
    : token.clientId === effect.clientId && token.credentialVersion === effect.credentialVersion - 1)

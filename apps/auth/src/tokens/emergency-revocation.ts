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

export interface RevocationEvidence {
  readonly effect: RevocationEffect
  /** The head of the audit after the revocation; undefined for a dry run. */
  readonly head: string | undefined
  /** How long the revocation took. The time for counting the tokens is not included. */
  readonly elapsedMs: number
  /** The cutoff in the token store after the revocation; undefined for a dry run. */
  readonly confirmedCutoff: TokenCutoff | undefined
  /**
   * The number of stored tokens that this revocation covers and no earlier revocation covered. It is approximate, because a store
   * may yield a token twice, or may yield an expired token. `complete` is false if counting stopped after 10 s.
   */
  readonly revoked: { readonly tokens: number; readonly complete: boolean }
}

/**
 * How far a revocation had got when it failed.
 *
 * - `unchanged`: PostgreSQL committed no revocation (at most, an epoch was reserved), but the token store may have changed.
 * - `unknown`: PostgreSQL may have committed.
 * - `written`: PostgreSQL committed.
 */
export type RevocationProgress = 'unchanged' | 'unknown' | 'written'

/**
 * The error of a revocation that failed midway: some of the tokens may still be accepted. Repeating the revocation is safe. A failed
 * dry run throws it too, with `unchanged`.
 */
export class UnconfirmedRevocation extends Error {
  override readonly name = 'UnconfirmedRevocation'
  readonly progress: RevocationProgress

  constructor(progress: RevocationProgress, options: ErrorOptions) {
    super(`the revocation was not confirmed: ${progress}`, options)
    this.progress = progress
  }
}

interface EmergencyRevocationDeps {
  readonly emergencyRevocations: EmergencyRevocationStore
  readonly tokens: Pick<TokenStore, 'readCutoff' | 'raiseCutoff' | 'revokeTokensOf' | 'iterateAll'>
  readonly by: Actor
  readonly revocationPublisher: Pick<RevocationPublisher, 'publish'>
}

const MAX_COUNTING_MS = 10_000

/**
 * Revokes the tokens in a scope. After it returns, no API accepts any of them in a new request, not even a token that a process
 * with a stale cache saves later (R-LIN).
 *
 * As in `deactivateAgent`, the token store is changed before the commit and again after it, since the store may have lost the
 * change in between and reloaded the old values. If the process is killed midway, the command can be repeated.
 *
 * @param options.dryRun true to count the tokens and change nothing
 * @returns the evidence, or a sentence that says why the revocation was refused
 * @throws {UnconfirmedRevocation} if a store fails, or the revocation cannot be published to the APIs
 */
export async function revokeInEmergency(
  { emergencyRevocations, tokens, by, revocationPublisher }: EmergencyRevocationDeps,
  scope: RevocationScope,
  { reason, dryRun = false }: { reason: string; dryRun?: boolean | undefined },
): Promise<Result<RevocationEvidence, string>> {
  const startedAt = performance.now()
  let progress: RevocationProgress = 'unchanged'
  const applyBeforeCommit = async (effect: RevocationEffect) => {
    await applyToTokenStore(tokens, effect)
    progress = 'unknown'
  }
  try {
    const epoch =
      scope.kind === 'all-tokens' && !dryRun ? await emergencyRevocations.reserveEpoch() : undefined
    const applied = await emergencyRevocations.revoke(scope, { by, reason, epoch, dryRun }, applyBeforeCommit)
    if (!applied.ok) return applied
    const { previousCutoff, effect, head } = applied.value
    if (!dryRun) {
      progress = 'written'
      await applyToTokenStore(tokens, effect)
      // A notification names a client or everything, so a revocation of tokens issued before a time publishes `everything` too.
      await revocationPublisher.publish(
        effect.kind === 'cutoff' ? { kind: 'everything' } : { kind: 'client', id: effect.clientId },
      )
    }
    const confirmedCutoff = dryRun ? undefined : await tokens.readCutoff()
    const elapsedMs = Math.round(performance.now() - startedAt)
    const revoked = await countRevoked(tokens, { previousCutoff, effect })
    return ok({ effect, head, elapsedMs, confirmedCutoff, revoked })
  } catch (cause) {
    throw new UnconfirmedRevocation(progress, { cause })
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
    count += batch.filter((token) => isRevokedBy(token, applied)).length
    if (performance.now() > deadline) return { tokens: count, complete: false }
  }
  return { tokens: count, complete: true }
}

/** Returns true if this revocation covers the token and no earlier one did: tokens of earlier credential versions were revoked before. */
const isRevokedBy = (token: TokenRecord, { previousCutoff, effect }: AppliedEffect): boolean =>
  token.audience !== CANARY_AUDIENCE &&
  !isBelowCutoff(token, previousCutoff) &&
  (effect.kind === 'cutoff'
    ? isBelowCutoff(token, effect.cutoff)
    : token.clientId === effect.clientId && token.credentialVersion === effect.credentialVersion - 1)

import { ok, type Result } from '@plainpath/domain'
import type { Actor } from '../audit/audit-chain.ts'
import type { Revoker } from '../revocation/revoker.ts'
import type { Stopped, StopScope, StopStore } from './stop-store.ts'
import { isStopped, type TokenRecord, type TokenStop, type TokenStore } from './token-store.ts'

export interface StopEvidence {
  readonly stopped: Stopped
  /** Head of the audit afterwards; undefined for a trial. */
  readonly head: string | undefined
  /** From the call until no new request could succeed with such a token. */
  readonly endedMs: number
  /** What the token store reports afterwards; undefined for a trial. */
  readonly confirmed: TokenStop | undefined
  /** How many stored tokens it revoked; `complete` is false when counting them all would have taken over 10 s. */
  readonly ended: { readonly tokens: number; readonly complete: boolean }
}

/** How far a stop had got when a store failed. */
export type StopProgress = 'unchanged' | 'unknown' | 'written'

/** A store failed, so it is unknown whether the tokens are revoked everywhere. Repeating the stop is safe. */
export class UnconfirmedStop extends Error {
  override readonly name = 'UnconfirmedStop'
  readonly progress: StopProgress

  constructor(progress: StopProgress, options: ErrorOptions) {
    super(`the stop was not confirmed: ${progress}`, options)
    this.progress = progress
  }
}

interface StopTokensDeps {
  readonly stops: StopStore
  readonly tokens: Pick<TokenStore, 'stop' | 'raiseStop' | 'revokeTokensOf' | 'all'>
  readonly by: Actor
  readonly revoker: Pick<Revoker, 'publishRevocation'>
}

const COUNT_MS = 10_000

/**
 * Revokes tokens: after it returns, no API accepts one of them in a new request, not even a token that a process with a
 * stale cache saves later (R-LIN).
 *
 * As in `endAgent`, the number in the token store is raised before the commit and again after it, since the store may
 * have lost the number in between and reloaded the old one. If the process is killed midway, either the tokens are
 * revoked or the command can be repeated.
 *
 * @throws {UnconfirmedStop} when a store fails
 */
export async function stopTokens(
  { stops, tokens, by, revoker }: StopTokensDeps,
  scope: StopScope,
  { reason, trial = false }: { reason: string; trial?: boolean | undefined },
): Promise<Result<StopEvidence, string>> {
  const startedAt = performance.now()
  let progress: StopProgress = 'unchanged'
  const announce = async (stopped: Stopped) => {
    await applyToTokenStore(tokens, stopped)
    progress = 'unknown'
  }
  try {
    const epoch = scope.kind === 'all-tokens' && !trial ? await stops.reserveEpoch() : undefined
    const done = await stops.stop(scope, { by, reason, epoch, trial }, announce)
    if (!done.ok) return done
    const { before, stopped, head } = done.value
    if (!trial) {
      progress = 'written'
      await applyToTokenStore(tokens, stopped)
      await revoker.publishRevocation(
        stopped.kind === 'stop' ? { kind: 'everything' } : { kind: 'client', id: stopped.clientId },
      )
    }
    const confirmed = trial ? undefined : await tokens.stop()
    const endedMs = Math.round(performance.now() - startedAt)
    const ended = await countEnded(tokens, { before, stopped })
    return ok({ stopped, head, endedMs, confirmed, ended })
  } catch (cause) {
    throw new UnconfirmedStop(progress, { cause })
  }
}

const applyToTokenStore = (tokens: StopTokensDeps['tokens'], stopped: Stopped) =>
  stopped.kind === 'stop'
    ? tokens.raiseStop(stopped.stop)
    : tokens.revokeTokensOf({ kind: 'client', id: stopped.clientId, generation: stopped.generation })

async function countEnded(
  tokens: StopTokensDeps['tokens'],
  change: { before: TokenStop; stopped: Stopped },
): Promise<StopEvidence['ended']> {
  const deadline = performance.now() + COUNT_MS
  let count = 0
  for await (const batch of tokens.all()) {
    count += batch.filter((token) => endedBy(token, change)).length
    if (performance.now() > deadline) return { tokens: count, complete: false }
  }
  return { tokens: count, complete: true }
}

const endedBy = (token: TokenRecord, { before, stopped }: { before: TokenStop; stopped: Stopped }): boolean =>
  !isStopped(token, before) &&
  (stopped.kind === 'stop'
    ? isStopped(token, stopped.stop)
    : token.clientId === stopped.clientId && token.generation === stopped.generation - 1)

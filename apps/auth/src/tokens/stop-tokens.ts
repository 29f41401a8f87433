import { ok, type Result } from '@plainpath/domain'
import type { Actor } from '../audit/audit-chain.ts'
import type { Revoker } from '../revocation/revoker.ts'
import type { Stopped, StopScope, StopStore } from './stop-store.ts'
import { isStopped, type TokenRecord, type TokenStop, type TokenStore } from './token-store.ts'

export interface StopEvidence {
  readonly stopped: Stopped
  /** Head of the audit afterwards; undefined for a trial. */
  readonly head: string | undefined
  /** From the call until no request that begins finds such a token. */
  readonly endedMs: number
  /** What the tokens' store says afterwards; undefined for a trial. */
  readonly confirmed: TokenStop | undefined
  /** How many tokens that were kept it ended; `complete` is false when there was no time to look at all. */
  readonly ended: { readonly tokens: number; readonly complete: boolean }
}

/** How far a stop had come when a store failed. */
export type StopProgress = 'unchanged' | 'unknown' | 'written'

/** A store failed, so that nobody can say that the tokens are over. Doing it again is safe. */
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
  readonly tokens: Pick<TokenStore, 'stop' | 'raiseStop' | 'endTokensOf' | 'all'>
  readonly by: Actor
  readonly revoker: Pick<Revoker, 'announceEnd'>
}

const COUNT_MS = 10_000

/**
 * Ends tokens; when it returns, no request that begins later succeeds with one of them anywhere, not even with one that
 * a process saves later although it began to issue it before (R-LIN).
 *
 * As when an agent ends, the number is raised beside the tokens before the change commits, and again after it, since
 * the tokens' store may have lost the number in between and been told the old one. Killed in between, it has ended
 * the tokens or may be asked again.
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
    await tellStore(tokens, stopped)
    progress = 'unknown'
  }
  try {
    const epoch = scope.kind === 'all-tokens' && !trial ? await stops.claimEpoch() : undefined
    const done = await stops.stop(scope, { by, reason, epoch, trial }, announce)
    if (!done.ok) return done
    const { before, stopped, head } = done.value
    if (!trial) {
      progress = 'written'
      await tellStore(tokens, stopped)
      await revoker.announceEnd(
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

const tellStore = (tokens: StopTokensDeps['tokens'], stopped: Stopped) =>
  stopped.kind === 'stop'
    ? tokens.raiseStop(stopped.stop)
    : tokens.endTokensOf({ kind: 'client', id: stopped.clientId, generation: stopped.generation })

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

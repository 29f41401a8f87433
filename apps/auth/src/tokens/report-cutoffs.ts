import type { AuthEvents } from '../events.ts'
import type { TokenStore } from './token-store.ts'

/**
 * Wraps `save` of a token store. The wrapped function also emits `tokens-stopped` when the epoch or the time of the cutoff is
 * higher than in all its earlier calls. The first cutoff emits nothing, because it may have been set before this process started.
 * For a token with its own epoch, `save` returns no cutoff, so nothing is emitted either.
 */
export function reportCutoffs(save: TokenStore['save'], events: AuthEvents): TokenStore['save'] {
  let highest: { readonly epoch: number; readonly issuedBeforeMs: number } | undefined
  return async (hash, token) => {
    const cutoff = await save(hash, token)
    if (!cutoff) return undefined
    const { epoch } = cutoff
    const issuedBeforeMs = cutoff.issuedBefore?.getTime() ?? 0
    if (highest && (epoch > highest.epoch || issuedBeforeMs > highest.issuedBeforeMs))
      events.emit('tokens-stopped', { epoch })
    highest = {
      epoch: Math.max(epoch, highest?.epoch ?? 0),
      issuedBeforeMs: Math.max(issuedBeforeMs, highest?.issuedBeforeMs ?? 0),
    }
    return cutoff
  }
}

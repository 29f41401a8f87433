import type { AuthEvents } from '../events.ts'
import type { TokenCutoff, TokenStore } from './token-store.ts'

/**
 * Wraps `save` of a token store. The wrapped function also emits `tokens-stopped` when the epoch or the time of the cutoff is
 * higher than in all its earlier calls. The first call emits nothing, because its cutoff may be old.
 */
export function reportCutoffs(save: TokenStore['save'], events: AuthEvents): TokenStore['save'] {
  const toPosition = ({ epoch, issuedBefore }: TokenCutoff) => [epoch, issuedBefore?.getTime() ?? 0] as const
  let lastPosition: readonly [number, number] | undefined
  return async (hash, token) => {
    const cutoff = await save(hash, token)
    if (!cutoff) return undefined
    const [epoch, issuedBeforeMs] = toPosition(cutoff)
    if (lastPosition && (epoch > lastPosition[0] || issuedBeforeMs > lastPosition[1]))
      events.emit('tokens-stopped', { epoch })
    lastPosition = [Math.max(epoch, lastPosition?.[0] ?? 0), Math.max(issuedBeforeMs, lastPosition?.[1] ?? 0)]
    return cutoff
  }
}

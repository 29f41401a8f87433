/** Takes that lie so close together that they are forgotten together: when the first and the last was, in ms. */
export interface Part {
  readonly from: number
  readonly last: number
  readonly count: number
}

export interface Taken {
  readonly allowed: boolean
  /** What still counts, oldest first; at most 12 parts. */
  readonly parts: readonly Part[]
  readonly used: number
  /** Until the oldest part is forgotten. */
  readonly resetMs: number
}

/** A window is remembered in so many parts, so a take counts for one window to one and a tenth. */
export const PARTS_OF_A_WINDOW = 10

/**
 * Takes one where at most `quota` are allowed in any stretch of `windowMs`, wherever it begins. `redis-limit-store.ts`
 * has the same in Lua.
 *
 * @param earlier parts that count too and are kept elsewhere
 */
export function takeFromWindow(
  known: readonly Part[],
  at: number,
  { quota, windowMs, earlier = [] }: { quota: number; windowMs: number; earlier?: readonly Part[] },
): Taken {
  const parts = remembered(known, at, windowMs)
  const others = remembered(earlier, at, windowMs)
  const used = sum(parts) + sum(others)
  const allowed = used < quota
  const newest = parts.at(-1)
  if (allowed && newest && at < newest.from + windowMs / PARTS_OF_A_WINDOW)
    parts.splice(-1, 1, { from: newest.from, last: at, count: newest.count + 1 })
  else if (allowed) parts.push({ from: at, last: at, count: 1 })
  const oldest = Math.min(...[...others, ...parts].map(({ last }) => last))
  return { allowed, parts, used: used + (allowed ? 1 : 0), resetMs: oldest + windowMs - at }
}

/** A clock that was set back leaves parts of the future, which count as taken now. */
const remembered = (parts: readonly Part[], at: number, windowMs: number): Part[] =>
  parts
    .map((part) => (part.last > at ? { ...part, last: at } : part))
    .filter(({ last }) => last + windowMs > at)

const sum = (parts: readonly Part[]) => parts.reduce((total, { count }) => total + count, 0)

import type { PackagedGuide } from './packaged-guide.ts'

export type DatedGuide = PackagedGuide & { readonly stale: boolean }

const DAY_MS = 86_400_000

/** The guide as it is to be served at `now`: `stale` once any source was checked more than `maxAgeDays` ago. */
export function guideAsOf(guide: PackagedGuide, now: Date): DatedGuide {
  return { ...guide, stale: now.getTime() > freshUntil(guide) }
}

/** The last moment at which it is not stale, in milliseconds since 1970. */
export function freshUntil({ sources, maxAgeDays }: PackagedGuide): number {
  const oldest = Math.min(...sources.map(({ checked }) => Date.parse(checked)))
  return oldest + maxAgeDays * DAY_MS
}

import type { PackagedGuide } from './packaged-guide.ts'

export type DatedGuide = PackagedGuide & { readonly stale: boolean }

const DAY_MS = 86_400_000

/** The guide as it is to be served at `now`: `stale` once any source was checked more than `maxAgeDays` ago. */
export function guideAsOf(guide: PackagedGuide, now: Date): DatedGuide {
  const oldest = Math.min(...guide.sources.map(({ checked }) => Date.parse(checked)))
  return { ...guide, stale: now.getTime() - oldest > guide.maxAgeDays * DAY_MS }
}

import type { DatedGuide } from '@plainpath/guides'
import { Problem } from '@plainpath/http'
import { type GuidePlace, publishedGuide } from './guide-answers.ts'
import type { GuideCatalog } from './guide-catalog.ts'

/** An earlier version of a guide, from the store. */
export type EarlierGuide = (slug: string, version: number) => Promise<DatedGuide | undefined>

/**
 * The version of a guide that somebody asks for; the published one unless they name it.
 *
 * @throws {Problem} 410 for a retired guide, 404 for an unknown guide or version; and what the store throws
 */
export async function guideVersion(
  from: { guides: { current(): GuideCatalog }; earlier: EarlierGuide },
  { slug, version }: { slug: string; version?: number | null | undefined },
  place: GuidePlace,
): Promise<DatedGuide> {
  const served = publishedGuide(from.guides.current(), slug, place)
  const wanted = version ?? served.version
  const guide = wanted === served.version ? served : await from.earlier(slug, wanted)
  if (guide) return guide
  const detail = `This guide has no version ${wanted}. Its newest is ${served.version}.`
  throw new Problem('not-found', { detail })
}

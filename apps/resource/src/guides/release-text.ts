import { isDeepStrictEqual } from 'node:util'
import type { PackagedGuide } from '@plainpath/guides'

interface KeptVersion {
  readonly slug: string
  readonly version: number
  readonly content: PackagedGuide
}

/** Finds the text of the release, where the store has another under the same version. */
export type ReleaseText = (kept: KeptVersion) => PackagedGuide | undefined

/**
 * The files of the release are what was checked: a text that somebody wrote into the store under one of their versions is
 * not served. What only the store has, of an earlier or a later release, passes.
 */
export function releaseText(packaged: readonly PackagedGuide[]): ReleaseText {
  const bySlug = new Map(packaged.map((guide) => [guide.slug, guide]))
  return ({ slug, version, content }) => {
    const own = bySlug.get(slug)
    return own?.version === version && !isDeepStrictEqual(own, content) ? own : undefined
  }
}

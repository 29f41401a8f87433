import { type DatedGuide, guideAsOf } from '@plainpath/guides'
import type { Database } from '@plainpath/postgres'
import { readGuideVersion } from './read-published-guides.ts'

/** Earlier versions are asked for seldom, so they are read when they are; without the database they are 503. */
export function earlierGuides(db: Database, now: () => Date) {
  return async (slug: string, version: number): Promise<DatedGuide | undefined> => {
    const guide = await readGuideVersion(db, slug, version)
    return guide && guideAsOf(guide, now())
  }
}

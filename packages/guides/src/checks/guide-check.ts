import type { PackagedGuide } from '../packaged-guide.ts'

export interface CheckContext {
  /** All guides that are published together. */
  readonly guides: readonly PackagedGuide[]
  readonly now: Date
}

/** Looks for one mistake in one guide; each answer says where it is. */
export type GuideCheck = (guide: PackagedGuide, context: CheckContext) => readonly string[]

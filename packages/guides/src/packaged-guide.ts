import { DAY_MS, Guide, GuideSource } from '@plainpath/domain'
import { z } from 'zod'

/** A source with the short name by which paragraphs point at it: `[^uscis-n400]`. */
const PackagedSource = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case words joined by hyphens'),
  ...GuideSource.shape,
  /** What the source is: decides how long a reading of it counts as fresh. */
  kind: z.enum(['statute', 'regulation', 'form-instructions', 'agency-page', 'contact']).optional(),
})

/** One change that a reader may have to know of. */
const HistoryLine = z.strictObject({
  date: z.iso.date(),
  /** The version of the guide in which the text changed. */
  version: z.int().min(1),
  text: z
    .string()
    .regex(/^(Corrected|Added|Removed): ./, 'must begin with "Corrected: ", "Added: " or "Removed: "'),
})

const { slug, title, summary, updated, reviewed, version, language, talkToAnAttorneyWhen } = Guide.shape

/** The YAML at the head of a guide's file. */
export const FrontMatter = z
  .strictObject({
    slug,
    title,
    summary,
    audience: z.string().min(1).max(300),
    language,
    status: z.enum(['draft', 'published']),
    version,
    updated,
    reviewed,
    /** The attorney who read this version; goes with `reviewed`. */
    reviewedBy: z.string().min(1).nullable().default(null),
    /** A guide is stale when a source was checked more days ago than this. */
    maxAgeDays: z.int().min(1).max(1000),
    talkToAnAttorneyWhen,
    sources: z.array(PackagedSource).min(1),
    /** Newest first. */
    history: z.array(HistoryLine).default([]),
  })
  .refine((front) => (front.reviewed === null) === (front.reviewedBy === null), {
    path: ['reviewed'],
    message: 'a review needs both its day and the name of who made it',
  })
  .superRefine(({ sources }, context) => {
    for (const [index, { id }] of sources.entries()) {
      if (sources.findIndex((source) => source.id === id) === index) continue
      context.addIssue({ code: 'custom', path: ['sources', index, 'id'], message: `repeats "${id}"` })
    }
  })

/** A guide as it is kept once it was published: the file's front matter, its body and the disclaimer of that day. */
export const KeptGuide = FrontMatter.safeExtend({
  body: z.string().min(1),
  disclaimer: z.string().min(1),
})

/**
 * A guide as its file tells it: no clock has judged yet whether it is `stale` (`guideAsOf` does).
 * The body's paragraphs end in markers `[^id]`; `withNumberedSources` turns them into numbers.
 */
export type PackagedGuide = Readonly<z.infer<typeof KeptGuide>>

export type DatedGuide = PackagedGuide & { readonly stale: boolean }

/** The guide as it is to be served at `now`: `stale` once any source was checked more than `maxAgeDays` ago. */
export function guideAsOf(guide: PackagedGuide, now: Date): DatedGuide {
  return { ...guide, stale: now.getTime() > freshUntil(guide) }
}

/** The last moment at which it is not stale, in milliseconds since 1970. */
export function freshUntil({ sources, maxAgeDays }: PackagedGuide): number {
  const oldest = Math.min(...sources.map(({ checked }) => Date.parse(checked)))
  return oldest + maxAgeDays * DAY_MS
}

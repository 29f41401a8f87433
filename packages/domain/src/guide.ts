import { z } from 'zod'

/** The name of a guide in URLs: lower-case words joined by hyphens. */
export const GuideSlug = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
  .meta({ description: 'Identifies a guide in URLs.' })

const Day = z.iso.date()
const ReviewDay = Day.nullable().meta({
  description: 'The day that an attorney reviewed the guide; null before.',
})

/** The kind of a source. Each kind has its own age limit. */
export const SourceKind = z
  .enum(['statute', 'regulation', 'form-instructions', 'agency-page', 'contact'])
  .meta({ description: 'The kind of source, which decides its `limitDays`.' })
export type SourceKind = z.infer<typeof SourceKind>

/** An official page that supports a guide. `checked` is the date of the copy that was read, not the date on which somebody read it. */
export const GuideSource = z.object({
  title: z.string().min(1),
  url: z.url({ protocol: /^https$/ }),
  agency: z.string().min(1),
  kind: SourceKind,
  checked: Day.meta({ description: 'The same day as `copyFrom`. Nobody verified the page on this day.' }),
  copyFrom: Day.meta({
    description:
      'The date of the copy of the page from which the statements were read; the first possible day if only a month or a ' +
      'period is known. The page may have changed since.',
  }),
  checkedBy: z
    .string()
    .min(1)
    .meta({ description: 'What kind of copy was read, and how its date is known.' }),
  limitDays: z
    .int()
    .min(1)
    .meta({ description: 'How many days after `checked` the copy counts as current.' }),
  stale: z.boolean().meta({ description: 'True if `checked` is more than `limitDays` ago.' }),
})
export type GuideSource = z.infer<typeof GuideSource>

/** A change of a guide that can matter to readers of an earlier version. */
export const GuideHistoryLine = z.object({
  date: Day.meta({ description: 'The day the text changed.' }),
  version: z.int().min(1).meta({ description: 'The version in which it changed.' }),
  text: z
    .string()
    .regex(/^(Corrected|Added|Removed): ./, 'must begin with "Corrected: ", "Added: " or "Removed: "')
    .meta({ description: 'Begins with `Corrected: `, `Added: ` or `Removed: `.' }),
})
export type GuideHistoryLine = z.infer<typeof GuideHistoryLine>

/** A published guide, as `GET /guides/{slug}` returns it. */
export const Guide = z.object({
  slug: GuideSlug,
  url: z.url().meta({ description: 'The page for people, with the published version.' }),
  title: z.string().min(1).max(120),
  summary: z.string().min(1).max(300),
  body: z.string().min(1).meta({ description: 'Markdown. `[n]` points at the n-th of `sources`.' }),
  sources: z.array(GuideSource).min(1).meta({ description: 'The official pages that support the guide.' }),
  updated: Day.meta({
    description: 'The text follows its sources as of this day. `history` has the days when the text changed.',
  }),
  reviewed: ReviewDay,
  stale: z.boolean().meta({
    description: 'True if at least one statement is stale.',
  }),
  statements: z.int().min(0).meta({ description: 'How many sentences and list items state a fact.' }),
  staleStatements: z.int().min(0).meta({
    description: 'How many of them have only stale sources, or none.',
  }),
  notChecked: z.array(z.string()).meta({
    description: 'Unchecked links and phone numbers: no source supports them.',
  }),
  history: z.array(GuideHistoryLine).meta({
    description: 'Changes that readers of an older version should know, newest first.',
  }),
  version: z.int().min(1).meta({ description: 'Increases with every change of the text.' }),
  language: z.string().min(2).meta({ description: 'BCP 47.' }),
  disclaimer: z.string().min(1).meta({ description: 'Show it with the guide.' }),
  talkToAnAttorneyWhen: z
    .array(z.string().min(1))
    .min(1)
    .meta({ description: 'When a licensed attorney is needed.' }),
})
export type Guide = z.infer<typeof Guide>

/** A guide, as `GET /guides` lists it. */
export const GuideListing = z.object({
  slug: GuideSlug,
  title: z.string(),
  summary: z.string(),
  updated: Day.meta({
    description:
      'The text follows its sources as of this day. `history` of the guide itself has the days when the text changed.',
  }),
  reviewed: ReviewDay,
  url: z.url().meta({ description: 'The page for people.' }),
  apiUrl: z.url().meta({ description: 'The guide as JSON, or as Markdown with `Accept: text/markdown`.' }),
  snippet: z.string().optional().meta({
    description: 'With `q`: the best-matching part of the guide, as plain text.',
  }),
  section: z
    .object({
      heading: z.string(),
      url: z.url().meta({ description: 'The section on the page for people.' }),
    })
    .optional()
    .meta({ description: 'With `q`: the section that `snippet` is from.' }),
})
export type GuideListing = z.infer<typeof GuideListing>

/** The response of `GET /guides`. */
export const GuideList = z.object({
  guides: z
    .array(GuideListing)
    .meta({ description: 'Published guides, ordered by slug; with `q`, the best match first.' }),
  next: z
    .string()
    .nullable()
    .meta({ description: 'The opaque cursor of the next page; null on the last page.' }),
})

import { z } from 'zod'

/** The name of a guide in URLs: lower-case words joined by hyphens. */
export const GuideSlug = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
  .meta({ description: 'Names the guide in addresses: lower-case words joined by hyphens.' })

const Day = z.iso.date()
const Reviewed = Day.nullable().meta({
  description: 'The day an attorney reviewed the guide; null until then.',
})

/** The kind of a source. Each kind has its own age limit. */
export const SourceKind = z
  .enum(['statute', 'regulation', 'form-instructions', 'agency-page', 'contact'])
  .meta({ description: 'What the source is; decides how many days a reading of it counts.' })
export type SourceKind = z.infer<typeof SourceKind>

/** An official page that a guide rests on. `checked` is the day of the copy that was read, never the day of writing. */
export const GuideSource = z.object({
  title: z.string().min(1),
  url: z.url({ protocol: /^https$/ }).meta({ description: 'The official page.' }),
  agency: z.string().min(1).meta({ description: 'Who publishes the page.' }),
  kind: SourceKind,
  checked: Day.meta({ description: 'The same day as `copyFrom`. Nobody verified the page on this day.' }),
  copyFrom: Day.meta({
    description:
      'The date of the copy of the page from which the statements were read; the first possible day if only a month or a ' +
      'period is known. The page may have changed since.',
  }),
  checkedBy: z.string().min(1).meta({ description: 'What kind of copy was read, and how its day is known.' }),
  limitDays: z.int().min(1).meta({ description: 'For how many days after `checked` the reading counts.' }),
  stale: z.boolean().meta({ description: 'True when it was checked more than `limitDays` ago.' }),
})
export type GuideSource = z.infer<typeof GuideSource>

/** One change of a guide that a reader of an earlier version may have to know of. */
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
  sources: z.array(GuideSource).min(1).meta({ description: 'The official pages that the guide rests on.' }),
  updated: Day.meta({ description: 'The day the text last changed.' }),
  reviewed: Reviewed,
  stale: z.boolean().meta({
    description: 'True when at least one statement is stale: look at its sources first.',
  }),
  statements: z.int().min(0).meta({ description: 'How many sentences and list items state something.' }),
  staleStatements: z.int().min(0).meta({
    description: 'How many of them have only sources that are stale, or none.',
  }),
  notChecked: z.array(z.string()).meta({
    description: 'Links and phone numbers in the text that no source supports: nobody checked them.',
  }),
  history: z.array(GuideHistoryLine).meta({
    description: 'Newest first: what was corrected, added or removed. People may have acted on the old text.',
  }),
  version: z.int().min(1).meta({ description: 'Grows with every change of the text.' }),
  language: z.string().min(2).meta({ description: 'BCP 47.' }),
  disclaimer: z.string().min(1).meta({ description: 'Show it with whatever you take from the guide.' }),
  talkToAnAttorneyWhen: z
    .array(z.string().min(1))
    .min(1)
    .meta({ description: 'When this guide is not enough and a licensed attorney is needed.' }),
})
export type Guide = z.infer<typeof Guide>

/** A guide, as `GET /guides` lists it. */
export const GuideListing = z.object({
  slug: GuideSlug,
  title: z.string(),
  summary: z.string(),
  updated: Day.meta({ description: 'The day the text last changed.' }),
  reviewed: Reviewed,
  url: z.url().meta({ description: 'The page for people.' }),
  apiUrl: z.url().meta({ description: 'The guide as JSON, or as Markdown with `Accept: text/markdown`.' }),
  snippet: z.string().optional().meta({
    description: 'Of a search: the part of the guide that answers best, as plain text.',
  }),
  section: z
    .object({
      heading: z.string(),
      url: z.url().meta({ description: 'The section on the page for people.' }),
    })
    .optional()
    .meta({ description: 'Of a search: the section that `snippet` is of.' }),
})
export type GuideListing = z.infer<typeof GuideListing>

/** The response of `GET /guides`. */
export const GuideList = z.object({
  guides: z
    .array(GuideListing)
    .meta({ description: 'Published guides only: by slug, or the best first when `q` is sent.' }),
  next: z
    .string()
    .nullable()
    .meta({ description: 'The cursor of the next page; null on the last one. Opaque.' }),
})

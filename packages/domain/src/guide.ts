import { z } from 'zod'

/** Names a guide in addresses: lower-case words joined by hyphens. */
export const GuideSlug = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)

const Day = z.iso.date()

/** An official page that a guide rests on. `checked` is the day of the copy that was read, never the day of writing. */
export const GuideSource = z.object({
  title: z.string().min(1),
  url: z.url({ protocol: /^https$/ }),
  agency: z.string().min(1),
  checked: Day,
  checkedBy: z.string().min(1),
})
export type GuideSource = z.infer<typeof GuideSource>

/** A published guide as `GET /guides/{slug}` answers it. */
export const Guide = z.object({
  slug: GuideSlug,
  title: z.string().min(1).max(120),
  summary: z.string().min(1).max(300),
  /** Markdown. */
  body: z.string().min(1),
  sources: z.array(GuideSource).min(1),
  updated: Day,
  /** Null until a named person reviewed the guide. */
  reviewed: Day.nullable(),
  /** True when a source was checked longer ago than the guide allows. */
  stale: z.boolean(),
  version: z.int().min(1),
  language: z.string().min(2),
  disclaimer: z.string().min(1),
  talkToAnAttorneyWhen: z.array(z.string().min(1)).min(1),
})
export type Guide = z.infer<typeof Guide>

/** A guide as `GET /guides` lists it. `url` is the page for people. */
export const GuideListing = z.object({
  slug: GuideSlug,
  title: z.string(),
  summary: z.string(),
  updated: Day,
  reviewed: Day.nullable(),
  url: z.url(),
})
export type GuideListing = z.infer<typeof GuideListing>

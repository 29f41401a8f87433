import { readdirSync, readFileSync } from 'node:fs'
import { GuideSlug } from '@plainpath/domain'
import { parse } from 'yaml'
import { z } from 'zod'

/** The kinds of information that a question can ask for. Each section lists the kinds that it gives. */
export const QUESTION_TYPES = [
  'amount',
  'contact',
  'consequence',
  'cost',
  'definition',
  'duration',
  'form',
  'how',
  'latest',
  'may',
  'proof',
  'reason',
  'validity',
  'when',
  'where',
  'who',
] as const
export type QuestionType = (typeof QUESTION_TYPES)[number]

const Phrase = z.string().min(1).max(200)

const SectionAsks = z
  .strictObject({
    types: z.array(z.enum(QUESTION_TYPES)).min(1),
    /** Questions that the section answers, in people's words. They are indexed and never shown. */
    asks: z.array(Phrase).max(12),
    /**
     * Questions on the section's subject that it does not answer. They lead to the section, and the
     * answer says that the section does not answer them.
     */
    near: z.array(Phrase).default([]),
  })
  .refine(
    ({ asks, near }) => asks.length + near.length >= 3,
    'must have at least three questions in asks and near together',
  )

const GuideAsks = z.strictObject({
  guide: GuideSlug,
  /** People's names for the guide's subject. */
  names: z.array(Phrase).min(1),
  /** The ids of the triggers whose check questions can change the answer, most likely first. */
  check: z.array(z.string()).min(1).max(6),
  /** Phrases for similar subjects that this guide does not cover. They lower the score of its sections. */
  notFor: z.array(Phrase).default([]),
  /** The asks of each section, by heading anchor; `intro` for the introduction. */
  sections: z.record(z.string(), SectionAsks),
})
export type GuideAsks = Readonly<z.infer<typeof GuideAsks>>

const SECTIONS_FOLDER = new URL('../sections/', import.meta.url)

let cachedAsks: readonly GuideAsks[] | undefined

/**
 * Loads the files in `sections/`, sorted by slug. Reads them once per process.
 *
 * @throws {Error} if a file has mistakes; the message lists them all as `file: member: mistake`
 */
export function loadSectionAsks(): readonly GuideAsks[] {
  cachedAsks ??= readSectionAsks(SECTIONS_FOLDER)
  return cachedAsks
}

function readSectionAsks(folder: URL): readonly GuideAsks[] {
  const mistakes: string[] = []
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const asks = files.toSorted().flatMap((file) => {
    const parsed = GuideAsks.safeParse(parse(readFileSync(new URL(file, folder), 'utf8')))
    if (parsed.success && `${parsed.data.guide}.yaml` === file) return [parsed.data]
    if (parsed.success) mistakes.push(`${file}: guide: must be the name of the file`)
    for (const { path, message } of parsed.error?.issues ?? [])
      mistakes.push(`${file}: ${path.join('.')}: ${message}`)
    return []
  })
  if (mistakes.length > 0) throw new Error(`sections with mistakes\n${mistakes.join('\n')}`)
  return asks
}

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { EMERGENCY_LINES } from '@plainpath/domain'
import { TRIGGERS_FOLDER } from '@plainpath/guides'
import { parseDocument } from 'yaml'
import { z } from 'zod'

const Id = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case words joined by hyphens')

/** Slots in the notation of `pattern-expression.ts`. The first is the event; the others must occur near it, on either side. */
const Slots = z.array(z.string().min(1)).min(1).max(5)

const Event = z.strictObject({
  id: Id,
  slots: Slots,
  /** `denied`: the event must be negated. `any`: negation does not matter. */
  polarity: z.enum(['affirmed', 'denied', 'any']).default('affirmed'),
  /** The maximum number of words between the first slot and another. The beginning of a clause counts as two more words. */
  window: z.int().min(0).max(60).default(8),
  /** `sentence`: all slots are in one sentence. `question`: they can be in different sentences, and somewhat farther apart. */
  within: z.enum(['sentence', 'question']).default('sentence'),
})

const Pattern = Event.extend({
  /** The general defusers (`defusers.yaml`) that do not defuse this pattern. */
  despite: z.array(Id).default([]),
  /** Examples that this pattern must match by itself. */
  matches: z.array(z.string().min(1)).min(1),
  /** Examples that look similar and must not match. */
  spares: z.array(z.string().min(1)).default([]),
})

/** A sign that makes a trigger likely: the answer suggests its check question. It is no pattern, but the model knows it. */
const WeakPattern = Event.extend({ score: z.number().gt(0).lt(1).default(0.5) })

/** Words that defuse this trigger's patterns if they are in the event's clause or sentence, or anywhere in the question. */
const Defuser = z.strictObject({
  id: Id,
  words: z.string().min(1),
  within: z.enum(['clause', 'sentence', 'question']).default('sentence'),
  /** The ids of the patterns that these words defuse; absent for all patterns of the trigger. */
  of: z.array(Id).optional(),
  /** Examples that no pattern of the trigger may match. */
  spares: z.array(z.string().min(1)).min(1),
})

const EmergencyLine = z.enum(Object.keys(EMERGENCY_LINES) as (keyof typeof EMERGENCY_LINES)[])
export type EmergencyLine = z.infer<typeof EmergencyLine>

const RegularExpression = z.string().transform((source, context) => {
  try {
    return new RegExp(source, 'iu')
  } catch (error) {
    context.addIssue((error as Error).message)
    return z.NEVER
  }
})

const URGENCIES = ['urgent', 'high', 'normal'] as const

const Trigger = z.strictObject({
  id: Id,
  title: z.string().min(1).max(100),
  urgency: z.enum(URGENCIES),
  /** The rank among all triggers, from 0: urgent ones first, then in the order in which they are shown. */
  precedence: z.int().min(0),
  /** One sentence that says why a lawyer is needed. */
  why: z.string().min(1).max(300),
  /** True if the trigger is a danger to a person. A request for help to deceive then does not prevent the hand-off. */
  danger: z.boolean().default(false),
  /** True if a pattern alone states the trigger. The model then has no say, and need not know the trigger. */
  patternsDecide: z.literal(true).optional(),
  source: z.strictObject({ title: z.string().min(1), url: z.url() }),
  /** The question, answered with yes or no, that decides whether the trigger applies. */
  ask: z.string().min(1).max(300).endsWith('?'),
  /** Sentences that say what to do now. */
  doNow: z.array(z.string().min(1).max(300)),
  /** The emergency lines that are shown before the lists of attorneys. */
  lines: z.array(EmergencyLine).default([]),
  /** Further sentences and emergency lines, shown if one of `patterns` matches and the question does not match `unless`. */
  also: z
    .array(
      z.strictObject({
        patterns: z.array(Id).min(1),
        unless: RegularExpression.optional(),
        doNow: z.array(z.string().min(1).max(300)),
        lines: z.array(EmergencyLine),
      }),
    )
    .default([]),
  /** Sections that may be shown with the hand-off, as `guide#anchor`. */
  mayStillSay: z.array(z.string().regex(/^[a-z0-9-]+#[a-z0-9-]+$/)),
  /** Further guides and sections that may be shown with the hand-off if they fit the question. */
  mayAlsoSay: z.array(z.string().regex(/^[a-z0-9-]+(#[a-z0-9-]+)?$/)).default([]),
  patterns: z.array(Pattern).min(1),
  defusers: z.array(Defuser).default([]),
  weak: z.array(WeakPattern).default([]),
})

export const TriggerFile = Trigger.superRefine(({ also, patterns }, context) => {
  const patternIds = new Set(patterns.map(({ id }) => id))
  for (const [index, addition] of also.entries())
    for (const id of addition.patterns)
      if (!patternIds.has(id))
        context.addIssue({ code: 'custom', path: ['also', index], message: `there is no pattern ${id}` })
})
export type TriggerFile = Readonly<z.infer<typeof TriggerFile>>

/** Replaces a regular expression with its source, because `JSON.stringify` formats every regular expression as `{}`. */
const replaceRegExp = (_name: string, value: unknown) => (value instanceof RegExp ? value.source : value)

/** Computes the version of a trigger, which changes with every change to it. */
export const computeTriggerVersion = (trigger: TriggerFile): string =>
  createHash('sha256').update(JSON.stringify(trigger, replaceRegExp)).digest('base64url').slice(0, 16)

let packagedTriggers: readonly TriggerFile[] | undefined

/** Loads the triggers of the guides package, in the order of their precedence, once per process. */
export function loadTriggers(): readonly TriggerFile[] {
  packagedTriggers ??= readTriggerFiles(TRIGGERS_FOLDER)
  return packagedTriggers
}

/**
 * Reads the triggers of a folder, in the order of their precedence.
 *
 * @param folder the URL of a folder with `<id>.yaml` files, with a slash at the end
 * @throws {Error} listing the mistakes of all files, as `file: member: message`
 */
export function readTriggerFiles(folder: URL): readonly TriggerFile[] {
  const triggers: TriggerFile[] = []
  const mistakes: string[] = []
  for (const name of readdirSync(folder).toSorted()) {
    if (!name.endsWith('.yaml')) continue
    const yaml = parseDocument(readFileSync(new URL(name, folder), 'utf8'))
    const parsed = TriggerFile.safeParse(yaml.errors.length > 0 ? undefined : yaml.toJS())
    mistakes.push(...yaml.errors.map(({ message }) => `${name}: ${message.trim()}`))
    if (!parsed.success)
      mistakes.push(
        ...parsed.error.issues.map(({ path, message }) => `${name}: ${path.join('.')}: ${message}`),
      )
    else if (`${parsed.data.id}.yaml` !== name) mistakes.push(`${name}: id: must be the name of the file`)
    else triggers.push(parsed.data)
  }
  if (mistakes.length > 0) throw new Error(`triggers with mistakes\n${mistakes.join('\n')}`)
  return triggers.toSorted((a, b) => a.precedence - b.precedence)
}

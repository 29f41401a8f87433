import { z } from 'zod'
import { ContactTopic } from './contact.ts'
import { GuideSlug, GuideSource } from './guide.ts'
import { Help } from './help.ts'
import { RULES } from './rules.ts'
import { TriggerId } from './trigger.ts'

/** Line ends become `\n`; the length counts code points. */
const Question = z
  .string()
  .transform((text) => text.replaceAll(/\r\n?/g, '\n').trim())
  .refine((text) => text !== '', 'must say something')
  .refine(
    (text) => [...text].length <= RULES.questionCharacters,
    `must be at most ${RULES.questionCharacters} characters`,
  )
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
  .refine((text) => !/[^\P{Cc}\n\t]/u.test(text), 'must have no control characters but line ends and tabs')
  .meta({
    minLength: 1,
    maxLength: RULES.questionCharacters,
    description: 'In plain English. Leave out names and document numbers.',
  })

/** The body of `POST /answers`. */
export const AnswerRequest = z.strictObject({
  question: Question,
  facts: z.partialRecord(TriggerId, z.boolean('must be true or false')).nullish().meta({
    description:
      'What the person told you, by trigger. `true` hands over to an attorney; `false` removes the question from `check`.',
  }),
})
export type AnswerRequest = z.output<typeof AnswerRequest>

/** `TriggerId`, as the trigger's file has it. */
const ReportedTrigger = z.string().min(1)

export const Link = z.object({ title: z.string().min(1), url: z.url() })

/** What an answer says of a source. */
export const PassageSource = GuideSource.pick({
  title: true,
  url: true,
  agency: true,
  checked: true,
  stale: true,
})

/** A section of a guide. */
const Passage = z.object({
  id: z
    .string()
    .min(1)
    .meta({ description: '`guide#section`; the introduction of a guide has its slug alone.' }),
  guide: GuideSlug,
  heading: z.string().min(1),
  text: z.string().min(1),
  markdown: z.string().min(1).meta({ description: '`[n]` points at the n-th of `sources`.' }),
  url: z.url().meta({ description: 'The section on the page for people.' }),
  answers: z.boolean().meta({
    description: 'False if the section has the subject, but not the answer: see `limits`.',
  }),
  sources: z.array(PassageSource),
})

const Reason = z.object({
  trigger: ReportedTrigger,
  urgency: z.enum(['urgent', 'high', 'normal']),
  why: z.string().min(1).meta({ description: 'Why an attorney is needed.' }),
  matched: z.array(z.string()).meta({ description: "The person's words, without long numbers." }),
  because: z.enum(['question', 'facts']),
  source: Link,
})

const HandOff = z.object({
  reasons: z.array(Reason).min(1).meta({ description: 'The most urgent first.' }),
  doNow: z.array(z.string().min(1)),
  findHelp: z.array(Help).min(1),
  contact: z.object({ topic: ContactTopic, url: z.url() }),
})

const OutOfScope = z.object({
  reason: z.enum(['other-country', 'other-subject', 'no-guide', 'asks-to-deceive', 'not-understood']),
  notices: z
    .array(z.object({ language: z.string().min(2), text: z.string().min(1) }))
    .min(1)
    .meta({ description: 'What to tell the person; in two languages if the question is in Spanish.' }),
  links: z.array(Link).meta({ description: 'Official pages on the subject.' }),
  findHelp: z.array(Help),
  nearGuide: Link.optional().meta({
    description: 'A guide on a related subject, which does not answer the question.',
  }),
})

/** For diagnosis: callers cannot rely on its members. */
export const AnswerExplanation = z.object({
  language: z.enum(['en', 'es', 'other']),
  /** The rules that decided, in order. */
  rules: z.array(z.string()),
  questionTypes: z.array(z.string()),
  scores: z.array(
    z.object({
      id: z.string(),
      score: z.number(),
      section: z.number(),
      ask: z.number(),
      guide: z.number(),
      typeMatches: z.boolean(),
    }),
  ),
})

/** The response of `POST /answers`. */
export const Answer = z.object({
  outcome: z.enum(['information', 'hand_off', 'out_of_scope']),
  passages: z.array(Passage).max(5).meta({ description: 'The best first.' }),
  handOff: HandOff.optional(),
  outOfScope: OutOfScope.optional(),
  check: z.array(z.object({ trigger: ReportedTrigger, ask: z.string().min(1) })).meta({
    description: 'Questions to put to the person, the likeliest first. Send the answers as `facts`.',
  }),
  limits: z.string().optional().meta({ description: 'What the passages do not say.' }),
  disclaimer: z.string().min(1).meta({ description: 'Show it with the answer.' }),
  answersVersion: z.string().min(1).meta({
    description: 'The same question, facts, version and day give the same response.',
  }),
  explain: AnswerExplanation.optional().meta({
    description: 'Only with `?explain=true`. For diagnosis: its members can change.',
  }),
})
export type Answer = z.infer<typeof Answer>

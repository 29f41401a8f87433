import { z } from 'zod'
import { ContactTopic } from './contact.ts'
import { GuideSlug, GuideSource } from './guide.ts'
import { Help } from './help.ts'
import { createPlainText } from './plain-text.ts'
import { RULES } from './rules.ts'
import { TriggerId } from './trigger.ts'

const Question = createPlainText(RULES.questionCharacters).meta({
  minLength: 1,
  maxLength: RULES.questionCharacters,
  description: 'A question in plain English. Do not include names or document numbers.',
})

/** The body of `POST /answers`. */
export const AnswerRequest = z.strictObject({
  question: Question,
  facts: z.partialRecord(TriggerId, z.boolean('must be true or false')).nullish().meta({
    description:
      'Facts that the person told you, keyed by trigger. `true` results in a hand-off to an attorney. `false` removes the question from `check`.',
  }),
})
export type AnswerRequest = z.output<typeof AnswerRequest>

/** The id of a trigger, as the trigger's file states it. */
const ReportedTrigger = z.string().min(1)

export const Link = z.object({ title: z.string().min(1), url: z.url() })

/** The members of a source that an answer cites. */
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
    .meta({ description: '`guide#section`. For the introduction of a guide, the slug alone.' }),
  guide: GuideSlug,
  guideTitle: z.string().min(1),
  heading: z.string().min(1),
  text: z.string().min(1),
  markdown: z.string().min(1).meta({
    description: 'The text as Markdown. `[n]` refers to the nth item of `sources`. Links are absolute.',
  }),
  url: z.url().meta({ description: 'The URL of the section on the website.' }),
  answers: z.boolean().meta({
    description: 'False if the section covers the subject but does not answer the question. See `limits`.',
  }),
  sources: z.array(PassageSource),
})

const Reason = z.object({
  trigger: ReportedTrigger,
  urgency: z.enum(['urgent', 'high', 'normal']),
  why: z.string().min(1).meta({ description: 'Why an attorney is needed.' }),
  matched: z
    .array(z.string())
    .meta({ description: "The person's words that matched the trigger. Long numbers are removed." }),
  // Whether the question or a fact of the request states the trigger. The question has priority.
  because: z.enum(['question', 'facts']),
  source: Link,
})

const HandOff = z.object({
  reasons: z.array(Reason).min(1).meta({ description: 'Sorted by urgency, the most urgent reason first.' }),
  doNow: z.array(z.string().min(1)),
  findHelp: z.array(Help).min(1),
  contact: z.object({ topic: ContactTopic, url: z.url() }),
})

const OutOfScope = z.object({
  reason: z.enum(['other-country', 'other-subject', 'no-guide', 'asks-to-deceive', 'not-understood']),
  notices: z
    .array(z.object({ language: z.string().min(2), text: z.string().min(1) }))
    .min(1)
    .meta({
      description: 'Text to show to the person. There are two languages if the question is in Spanish.',
    }),
  links: z.array(Link).meta({ description: 'Official pages about the subject.' }),
  findHelp: z.array(Help),
  nearGuide: Link.optional().meta({
    description: 'A guide about a related subject. It does not answer the question.',
  }),
})

/** Diagnostic data. Callers must not rely on its members. */
export const AnswerExplanation = z.object({
  language: z.enum(['en', 'es', 'other']),
  /** The rules that determined the outcome, in order. */
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
  passages: z.array(Passage).max(5).meta({ description: 'Sorted by relevance, the best match first.' }),
  handOff: HandOff.optional(),
  outOfScope: OutOfScope.optional(),
  check: z.array(z.object({ trigger: ReportedTrigger, ask: z.string().min(1) })).meta({
    description: 'Questions to ask the person, the most likely to apply first. Send the answers in `facts`.',
  }),
  limits: z.string().optional().meta({ description: 'What the passages do not answer.' }),
  disclaimer: z.string().min(1).meta({ description: 'Show the disclaimer with the answer.' }),
  answersVersion: z.string().min(1).meta({
    description:
      'Requests with the same question and facts get the same response on the same day while the version is the same.',
  }),
  explain: AnswerExplanation.optional().meta({
    description: 'Diagnostic data, present only with `?explain=true`. Its members can change.',
  }),
})
export type Answer = z.infer<typeof Answer>

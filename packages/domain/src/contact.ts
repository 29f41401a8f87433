import { z } from 'zod'
import { GuideSlug } from './guide.ts'
import { Help } from './help.ts'
import { createPlainText } from './plain-text.ts'
import { RULES } from './rules.ts'
import { orderTriggers, TriggerId } from './trigger.ts'

export const ContactTopic = z.enum(['question', 'attorney', 'correction', 'other'])
export type ContactTopic = z.infer<typeof ContactTopic>

/** The text of a message. */
export const ContactText = createPlainText(RULES.messageCharacters)

/**
 * The triggers for which the person needs an attorney. Duplicates are removed after the length check, so they count towards
 * the maximum.
 */
export const HandOff = z.strictObject({
  triggers: z
    .array(TriggerId)
    .min(1)
    .max(RULES.handOffTriggers)
    .transform(orderTriggers)
    .meta({ description: 'Ids of triggers that `GET /api/triggers` lists.' }),
})

/** The body of `POST /contact`. */
export const ContactRequest = z.strictObject({
  topic: ContactTopic.meta({
    description:
      '`question`: about a guide. `attorney`: the person needs a lawyer; the response adds `prepare` and `attorneyLists`. ' +
      '`correction`: a guide or an answer is wrong. `other`: anything else.',
  }),
  message: ContactText.meta({
    minLength: 1,
    maxLength: RULES.messageCharacters,
    description: 'What the person wants to say. Leave out document numbers.',
  }),
  guideSlug: GuideSlug.nullish().meta({ description: 'The guide that the message is about.' }),
  handOff: HandOff.nullish().meta({
    description:
      'Why the person needs a lawyer. A message with an urgent trigger is read first. Send this only if the person agrees.',
  }),
})
export type ContactRequest = z.output<typeof ContactRequest>

/**
 * The status of a message. `erased`: the text, the reply address and the triggers are gone; the row and its topic
 * remain.
 */
export const ContactStatus = z.enum(['received', 'delivered', 'erased'])
export type ContactStatus = z.infer<typeof ContactStatus>

export const ContactId = z.uuid()

const OfficialList = z.object({ title: z.string(), url: z.url(), about: z.string() })
const HeldUntil = z.iso.datetime().meta({
  description: 'When the message goes to staff. Until then it can be withdrawn.',
})

/** The response of `POST /contact`. */
export const ContactReceived = z.object({
  id: ContactId,
  status: z.literal('received'),
  heldUntil: HeldUntil,
  reply: z.object({ expected: z.string(), ifYouCannotWait: z.string(), findHelp: z.array(Help) }).meta({
    description: 'Show it to the person: when to expect a reply, and what to do until then.',
  }),
  prepare: z.array(z.string()).optional().meta({ description: 'Only for `attorney`: what to have ready.' }),
  attorneyLists: z.array(OfficialList).optional().meta({ description: 'Only for `attorney`.' }),
})

/** The response of `GET /contact/{id}`. */
export const ContactState = z.object({
  id: ContactId,
  status: ContactStatus,
  heldUntil: HeldUntil.optional().meta({
    description: 'When the message goes to staff, or went there. Absent for an erased message.',
  }),
})

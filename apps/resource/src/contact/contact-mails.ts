import { durationIn, findUrgency, helpLine, highestUrgency, RULES } from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'
import { longDate, REPLY } from '@plainpath/pages'
import type { NewMessage } from './contact-message.ts'

const deskText = readTemplate(new URL('./desk-mail.template.txt', import.meta.url), [
  'handOff',
  'wrote',
  'text',
  'topic',
  'guide',
  'createdAt',
  'id',
])
const receiptText = readTemplate(
  new URL('./receipt-mail.template.txt', import.meta.url),
  ['urls', 'wrote', 'heldUntil', 'secret', 'id', 'notYou'],
  {
    expected: REPLY.expected,
    ifYouCannotWait: REPLY.ifYouCannotWait,
    help: REPLY.findHelp.map((help) => `- ${helpLine(help)}`).join('\n'),
  },
)
const confirmText = readTemplate(
  new URL('./confirm-mail.template.txt', import.meta.url),
  ['urls', 'secret'],
  { unconfirmedLasts: durationIn('hour', RULES.unconfirmedMessageMs) },
)

/** Who wrote a message: an agent for a person, or the person on our page. */
export type Writer = 'agent' | 'person'

const WROTE = {
  person: 'A person who verified this address wrote',
  agent: 'An AI agent wrote for a person who verified this address and let it',
} as const satisfies Record<Writer, string>

/**
 * To the people who answer. What the person needs a lawyer for comes first. Each line of the person's text is marked, so
 * that none can pass for ours.
 */
export const deskMail = (deskAddress: string, message: NewMessage, writer: Writer): MailContent => ({
  to: deskAddress,
  replyTo: message.replyTo,
  subject: `Message ${message.id} (${message.topic})`,
  text: deskText({
    handOff: handOffLines(message.triggers),
    wrote: WROTE[writer],
    text: quoted(message.text),
    topic: message.topic,
    guide: message.guideSlug ?? 'none',
    createdAt: message.createdAt.toISOString(),
    id: message.id,
  }),
})

const quoted = (text: string) => text.replaceAll(/^/gm, '| ')

function handOffLines(triggers: readonly string[]): string {
  const urgency = highestUrgency(triggers)
  if (urgency === undefined) return ''
  const named = triggers.map((trigger) => `- ${trigger} (${findUrgency(trigger)})`)
  return `Urgency: ${urgency}. The person needs a lawyer, and agreed that we say why:\n${named.join('\n')}\n\n`
}

/** For the first line of a receipt, and for somebody who did not ask for it. */
const RECEIPT = {
  agent: {
    wrote: 'An agent that you let write for you sent a message to the people behind Plainpath.',
    notYou:
      'If you did not ask for it, end what the agent may do: the mail that told you of the agent has the link.',
  },
  person: {
    wrote: 'You sent a message to the people behind Plainpath.',
    notYou: 'If it was not you, take the message back by the link above.',
  },
} as const satisfies Record<Writer, object>

/** To the person, as soon as the message is sent. Nothing in it comes from the agent. */
export const receiptMail = (
  urls: ServiceUrls,
  message: { id: string; replyTo: string; heldUntil: Date; secret: string; writer: Writer },
): MailContent => ({
  to: message.replyTo,
  subject: 'We received your message to Plainpath',
  text: receiptText({
    urls,
    ...RECEIPT[message.writer],
    heldUntil: `${message.heldUntil.toISOString().slice(11, 16)} UTC on ${longDate(message.heldUntil)}`,
    secret: message.secret,
    id: message.id,
  }),
})

/** To who filled in the page. Nothing in it comes from the form but the address. */
export const confirmMail = (urls: ServiceUrls, about: { replyTo: string; secret: string }): MailContent => ({
  to: about.replyTo,
  subject: 'Send your message to Plainpath',
  text: confirmText({ urls, secret: about.secret }),
})

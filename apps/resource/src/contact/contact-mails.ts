import { durationIn, findUrgency, helpLine, highestUrgency, RULES } from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'
import { CONTACT_TOPICS, describeAgentInMail, longDate, REPLY } from '@plainpath/pages'
import type { ConfirmedAgent } from '../auth/introspection.ts'
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
  ['urls', 'wrote', 'topic', 'text', 'handOff', 'heldUntil', 'secret', 'id', 'notYou'],
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

/**
 * Who wrote a message: an agent for a person, or the person on our page. What is known of the agent is absent when an
 * authorization server of an earlier release introspected its token.
 */
export type Writer = { readonly agent: ConfirmedAgent | undefined } | 'person'

const WROTE = {
  person: 'A person who confirmed their e-mail address wrote this.',
  agent: 'An AI agent wrote this for a person who confirmed it by e-mail.',
} as const

/**
 * Composes the mail to staff. The reasons why the person needs a lawyer come first. Each line of the person's text is marked,
 * so that none can pass for ours.
 */
export const deskMail = (deskAddress: string, message: NewMessage, writer: Writer): MailContent => ({
  to: deskAddress,
  replyTo: message.replyTo,
  subject: `Message ${message.id} (${message.topic})`,
  text: deskText({
    handOff: handOffLines(message.triggers),
    wrote: WROTE[writer === 'person' ? 'person' : 'agent'],
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
  return `Urgency: ${urgency}. The person needs a lawyer, and agreed to share the reasons:\n${named.join('\n')}\n\n`
}

/** The first line of a receipt. */
const RECEIVED = {
  person: 'We received your message. This is a copy of it.',
  agent: 'An AI agent sent us this message for you.',
} as const

/** Says that staff are told why the person needs a lawyer. The reasons are not named: others may read the mailbox. */
const HAND_OFF = 'Our staff are also told why you need a lawyer, as you agreed.\n\n'

/** Composes the mail to the person, which is sent as soon as the message is received. Each line of the message is marked, as in the mail to staff. */
export const receiptMail = (
  urls: ServiceUrls,
  message: Pick<NewMessage, 'id' | 'topic' | 'text' | 'triggers' | 'replyTo'> & {
    heldUntil: Date
    secret: string
    writer: Writer
  },
): MailContent => ({
  to: message.replyTo,
  subject: 'We received your message to Plainpath',
  text: receiptText({
    urls,
    wrote: RECEIVED[message.writer === 'person' ? 'person' : 'agent'],
    topic: CONTACT_TOPICS[message.topic],
    text: quoted(message.text),
    handOff: message.triggers.length > 0 ? HAND_OFF : '',
    heldUntil: `${message.heldUntil.toISOString().slice(11, 16)} UTC on ${longDate(message.heldUntil)}`,
    secret: message.secret,
    id: message.id,
    notYou:
      message.writer === 'person'
        ? 'If it was not you who sent the message, withdraw it by the link above.'
        : accessLines(urls, message.writer.agent),
  }),
})

const LINK_ELSEWHERE = 'To end its access, use the link in the mail that told you about the agent.'

/** Describes the agent that wrote, what it may do, and how to end that. */
function accessLines(urls: ServiceUrls, agent: ConfirmedAgent | undefined): string {
  if (!agent) return `If you do not want this agent to send us messages:\n${LINK_ELSEWHERE}`
  const lines = [
    describeAgentInMail(agent),
    '',
    'What it may do: send our staff messages for you.',
    `Since: ${longDate(agent.verifiedAt)}`,
    `Until: ${longDate(agent.expiresAt)}, unless you end its access before`,
    '',
    ...(agent.endSecret === undefined
      ? [LINK_ELSEWHERE]
      : ['To end its access, open this link and press the button:', urls.endClaim(agent.endSecret)]),
  ]
  return lines.join('\n')
}

/** Composes the mail to a person who filled in the form. It contains nothing from the form but the address. */
export const confirmMail = (urls: ServiceUrls, about: { replyTo: string; secret: string }): MailContent => ({
  to: about.replyTo,
  subject: 'Send your message to Plainpath',
  text: confirmText({ urls, secret: about.secret }),
})

import {
  ATTORNEY_HELP,
  durationIn,
  findUrgency,
  type Help,
  highestUrgency,
  MINUTE_MS,
  RULES,
} from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'
import { CONTACT_TOPICS, describeAgentInMail, longDate, REPLY, referToAgentInMail } from '@plainpath/pages'
import type { ConfirmedAgent } from '../auth/introspection.ts'
import type { NewMessage } from './contact-message.ts'

const staffText = readTemplate(new URL('./staff-mail.template.txt', import.meta.url), [
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
  ['urls', 'wrote', 'topic', 'text', 'handOff', 'when', 'secret', 'help', 'id', 'notYou'],
  { expected: wrap(REPLY.expected), ifYouCannotWait: wrap(REPLY.ifYouCannotWait) },
)
const withdrawnText = readTemplate(new URL('./withdrawn-mail.template.txt', import.meta.url), [
  'day',
  'agent',
  'id',
])
const confirmText = readTemplate(
  new URL('./confirm-mail.template.txt', import.meta.url),
  ['urls', 'secret'],
  { unconfirmedLasts: durationIn('hour', RULES.unconfirmedMessageMs) },
)

/** The kinds of mail. `about` of each mail is the id of its message. */
export const CONTACT_MAIL = {
  staff: 'contact-desk',
  receipt: 'contact-receipt',
  withdrawn: 'contact-withdrawn',
  confirm: 'contact-confirm',
} as const

/** Breaks a text without long words into lines as long as those of the templates. */
function wrap(text: string): string {
  return text.replaceAll(/(.{1,86})(?: |$)/g, '$1\n').trimEnd()
}

/**
 * The author of a message: an agent for a person, or the person on our page. `agent` is undefined if an authorization server of an
 * earlier release introspected the token.
 */
export type Writer = { readonly agent: ConfirmedAgent | undefined } | 'person'

/** The first line of the mail to staff. */
const wrote = (writer: Writer) =>
  writer === 'person'
    ? 'A person who confirmed their e-mail address wrote this.'
    : `${referToAgentInMail(writer.agent)} wrote this for a person who confirmed it by e-mail.`

/**
 * Composes the mail to staff. The reasons why the person needs an attorney come first. Each line of the person's text is marked,
 * so that none can pass for ours.
 */
export const staffMail = (staffInbox: string, message: NewMessage, writer: Writer): MailContent => ({
  to: staffInbox,
  replyTo: message.replyTo,
  subject: `Message ${message.id} (${message.topic})`,
  text: staffText({
    handOff: handOffLines(message.triggers),
    wrote: wrote(writer),
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
  return `Urgency: ${urgency}. The person needs an attorney, and agreed to share the reasons:\n${named.join('\n')}\n\n`
}

/** The first line of a receipt. */
const received = (writer: Writer) =>
  writer === 'person'
    ? 'We received your message. This is a copy of it.'
    : `${referToAgentInMail(writer.agent)} sent us this message for you.`

/** Says that staff are told why the person needs an attorney. The reasons are not named: others may read the mailbox. */
const HAND_OFF =
  'Our staff are also told why you need an attorney. If you do not want that, withdraw the\nmessage.\n\n'

/** Composes the mail to the person, which is sent as soon as the message is received. Each line of the message is marked, as in the mail to staff. */
export const receiptMail = (
  urls: ServiceUrls,
  message: Pick<NewMessage, 'id' | 'topic' | 'text' | 'triggers' | 'replyTo'> & {
    /** When it was sent, or confirmed. */
    receivedAt: Date
    heldUntil: Date
    secret: string
    writer: Writer
  },
): MailContent => ({
  to: message.replyTo,
  subject: 'We received your message to Plainpath',
  text: receiptText({
    urls,
    wrote: received(message.writer),
    topic: CONTACT_TOPICS[message.topic],
    text: quoted(message.text),
    handOff: message.triggers.length > 0 ? HAND_OFF : '',
    when: whenDelivered(message.heldUntil, message.receivedAt),
    secret: message.secret,
    help: helpFor(message.topic).map(helpLines).join('\n'),
    id: message.id,
    notYou:
      message.writer === 'person'
        ? 'If it was not you who sent the message, withdraw it by the link above.'
        : accessLines(urls, message.writer.agent),
  }),
})

function whenDelivered(heldUntil: Date, receivedAt: Date): string {
  const time = `${heldUntil.toISOString().slice(11, 16)} UTC on ${longDate(heldUntil)}`
  const holdMs = heldUntil.getTime() - receivedAt.getTime()
  return holdMs < MINUTE_MS ? `now (${time})` : `in about ${durationIn('minute', holdMs)}\n(${time})`
}

/** The lists of attorneys come first for a person who asks for one. */
const helpFor = (topic: NewMessage['topic']): readonly Help[] =>
  topic === 'attorney' ? [...new Set([...ATTORNEY_HELP, ...REPLY.findHelp])] : REPLY.findHelp

const helpLines = ({ title, phone, url }: Help) =>
  [[title, phone].filter((part) => part !== undefined).join(': '), url]
    .filter((part) => part !== undefined)
    .map((line, nth) => `${nth === 0 ? '-' : ' '} ${line}`)
    .join('\n')

const LINK_ELSEWHERE = 'To end its access, use the link in the e-mail that told you about the agent.'

/** Describes the agent that wrote, what it may do, and how to end that. */
function accessLines(urls: ServiceUrls, agent: ConfirmedAgent | undefined): string {
  if (!agent) return `If you do not want this agent to send us messages:\n${LINK_ELSEWHERE}`
  const lines = [
    describeAgentInMail(agent),
    '',
    'What it may do: send our staff messages for you.',
    `Since: ${longDate(agent.verifiedAt)}`,
    `Until: ${longDate(agent.expiresAt)}, unless you end it sooner`,
    '',
    ...(agent.endSecret === undefined
      ? [LINK_ELSEWHERE]
      : ['To end its access, open this link and press the button:', urls.endClaim(agent.endSecret)]),
  ]
  return lines.join('\n')
}

/** Composes the mail to the person whose agent withdrew its message before staff got it. */
export const withdrawnMail = (message: {
  id: string
  replyTo: string
  createdAt: Date
  agentDomain: string | null
}): MailContent => ({
  to: message.replyTo,
  subject: 'A message to Plainpath was withdrawn',
  text: withdrawnText({
    day: longDate(message.createdAt),
    // Where an app is, is not stored with its messages.
    agent:
      message.agentDomain === null
        ? 'An AI agent or app'
        : referToAgentInMail({ verifiedDomain: message.agentDomain }),
    id: message.id,
  }),
})

/** Composes the mail to a person who filled in the form. It contains nothing from the form but the address. */
export const confirmMail = (urls: ServiceUrls, about: { replyTo: string; secret: string }): MailContent => ({
  to: about.replyTo,
  subject: 'Send your message to Plainpath',
  text: confirmText({ urls, secret: about.secret }),
})

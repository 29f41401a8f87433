import {
  ATTORNEY_HELP,
  durationIn,
  findHighestUrgency,
  findUrgency,
  type Help,
  MINUTE_MS,
  RULES,
} from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'
import {
  CONTACT_TOPICS,
  describeAgentInMail,
  formatLongDate,
  REPLY_GUIDANCE,
  referToAgentInMail,
} from '@plainpath/pages'
import type { ConfirmedAgent } from '../auth/introspection.ts'
import type { NewMessage } from './contact-message.ts'

const fillStaffTemplate = readTemplate(new URL('./staff-mail.template.txt', import.meta.url), [
  'handOff',
  'author',
  'text',
  'topic',
  'guide',
  'createdAt',
  'id',
])
const fillReceiptTemplate = readTemplate(
  new URL('./receipt-mail.template.txt', import.meta.url),
  ['urls', 'introduction', 'topic', 'text', 'handOff', 'deliveryTime', 'secret', 'help', 'id', 'ifNotYou'],
  {
    expected: wrapLines(REPLY_GUIDANCE.expected),
    ifYouCannotWait: wrapLines(REPLY_GUIDANCE.ifYouCannotWait),
  },
)
const fillWithdrawnTemplate = readTemplate(new URL('./withdrawn-mail.template.txt', import.meta.url), [
  'day',
  'delivery',
  'agent',
  'nextStep',
  'ifNotWanted',
  'id',
])
const fillConfirmTemplate = readTemplate(
  new URL('./confirm-mail.template.txt', import.meta.url),
  ['urls', 'secret'],
  { unconfirmedRetention: durationIn('hour', RULES.unconfirmedMessageMs) },
)

/** The mail kinds. The `about` of each mail is the id of its message. */
export const CONTACT_MAIL = {
  staff: 'contact-desk',
  receipt: 'contact-receipt',
  withdrawn: 'contact-withdrawn',
  confirm: 'contact-confirm',
} as const

/** Wraps a text at 86 characters, the line length of the templates. Longer words are not broken. */
function wrapLines(text: string): string {
  return text.replaceAll(/(.{1,86})(?: |$)/g, '$1\n').trimEnd()
}

/**
 * The writer of a message: an agent that acts for a person, or a person who used the contact form. `agent` is undefined if auth
 * of an earlier release introspected the token.
 */
export type Writer = { readonly agent: ConfirmedAgent | undefined } | 'person'

/** Describes the writer in the staff mail. */
const describeWriterForStaff = (writer: Writer) =>
  writer === 'person'
    ? 'A person who confirmed their e-mail address wrote this.'
    : `${referToAgentInMail(writer.agent)} wrote this for a person who confirmed it by e-mail.`

/**
 * Composes the staff mail. If the person needs an attorney, the mail begins with the reasons. Each line of the person's text is
 * marked, so that staff do not mistake it for our own text.
 */
export const composeStaffMail = (staffInbox: string, message: NewMessage, writer: Writer): MailContent => ({
  to: staffInbox,
  replyTo: message.replyTo,
  subject: `Message ${message.id} (${message.topic})`,
  text: fillStaffTemplate({
    handOff: formatHandOff(message.triggers),
    author: describeWriterForStaff(writer),
    text: quoteLines(message.text),
    topic: message.topic,
    guide: message.guideSlug ?? 'none',
    createdAt: message.createdAt.toISOString(),
    id: message.id,
  }),
})

const quoteLines = (text: string) => text.replaceAll(/^/gm, '| ')

function formatHandOff(triggers: readonly string[]): string {
  const urgency = findHighestUrgency(triggers)
  if (urgency === undefined) return ''
  const reasons = triggers.map((trigger) => `- ${trigger} (${findUrgency(trigger)})`)
  return `Urgency: ${urgency}. The person needs an attorney, and agreed to share the reasons:\n${reasons.join('\n')}\n\n`
}

/** Formats the first sentence of a receipt. */
const formatReceiptIntroduction = (writer: Writer) =>
  writer === 'person'
    ? 'We received your message. This is a copy of it.'
    : `${referToAgentInMail(writer.agent)} sent us this message for you.`

/**
 * Informs the person that staff learn why they need an attorney. Names no reasons, because others may read the person's mailbox.
 */
const HAND_OFF_NOTICE =
  'Our staff are also told why you need an attorney. If you do not want that, withdraw the\nmessage.\n\n'

/**
 * Composes the receipt, which is due when the message is received. As in the staff mail, each line of the message is marked.
 */
export const composeReceiptMail = (
  urls: ServiceUrls,
  message: Pick<NewMessage, 'id' | 'topic' | 'text' | 'triggers' | 'replyTo'> & {
    /** The time at which an agent sent the message, or the person confirmed it. */
    receivedAt: Date
    heldUntil: Date
    secret: string
    writer: Writer
  },
): MailContent => ({
  to: message.replyTo,
  subject: 'We received your message to Plainpath',
  text: fillReceiptTemplate({
    urls,
    introduction: formatReceiptIntroduction(message.writer),
    topic: CONTACT_TOPICS[message.topic],
    text: quoteLines(message.text),
    handOff: message.triggers.length > 0 ? HAND_OFF_NOTICE : '',
    deliveryTime: describeDeliveryTime(message.heldUntil, message.receivedAt),
    secret: message.secret,
    help: chooseHelp(message.topic).map(formatHelp).join('\n'),
    id: message.id,
    ifNotYou:
      message.writer === 'person'
        ? 'If it was not you who sent the message, withdraw it by the link above.'
        : describeAccess(urls, message.writer.agent),
  }),
})

function describeDeliveryTime(heldUntil: Date, receivedAt: Date): string {
  const time = `${heldUntil.toISOString().slice(11, 16)} UTC on ${formatLongDate(heldUntil)}`
  const holdMs = heldUntil.getTime() - receivedAt.getTime()
  return holdMs < MINUTE_MS ? `now (${time})` : `in about ${durationIn('minute', holdMs)}\n(${time})`
}

/** Chooses the help to list. If the topic is `attorney`, the attorney lists come first. */
const chooseHelp = (topic: NewMessage['topic']): readonly Help[] =>
  topic === 'attorney'
    ? [...new Set([...ATTORNEY_HELP, ...REPLY_GUIDANCE.findHelp])]
    : REPLY_GUIDANCE.findHelp

const formatHelp = ({ title, phone, url }: Help) =>
  [[title, phone].filter((part) => part !== undefined).join(': '), url]
    .filter((part) => part !== undefined)
    .map((line, index) => `${index === 0 ? '-' : ' '} ${line}`)
    .join('\n')

const END_ACCESS_BY_EARLIER_MAIL = 'To end its access, use the link in the e-mail that told you about it.'

/** Describes the agent that wrote the message, what it may do, and how to revoke its access. */
function describeAccess(urls: ServiceUrls, agent: ConfirmedAgent | undefined): string {
  if (!agent) return `If you do not want this agent to send us messages:\n${END_ACCESS_BY_EARLIER_MAIL}`
  const lines = [
    describeAgentInMail(agent),
    '',
    'What it may do: send our staff messages for you.',
    `Since: ${formatLongDate(agent.verifiedAt)}`,
    `Until: ${formatLongDate(agent.expiresAt)}, unless you end it sooner`,
    '',
    ...(agent.endSecret === undefined
      ? [END_ACCESS_BY_EARLIER_MAIL]
      : ['To end its access, open this link and press the button:', urls.endClaim(agent.endSecret)]),
  ]
  return lines.join('\n')
}

/** A message that an agent or app withdrew. */
interface WithdrawnMessage {
  readonly id: string
  readonly replyTo: string
  readonly createdAt: Date
  /** Undefined if the agent cannot be found now. The mail then names `agentDomain`, if there is one. */
  readonly agent?: ConfirmedAgent | undefined
  readonly agentDomain: string | null
  /** True if staff may have received the message before it was withdrawn. */
  readonly mayBeDelivered: boolean
}

/** Says that staff may have the message, and how the person can have the staff mail deleted. */
const describeStaffCopy = (origin: string) =>
  wrapLines(
    `Before that, we tried to send it, so our staff may have received it by e-mail. You can ask them to delete that e-mail: write to us at ${origin}/contact and name the message number below.`,
  )

/** Composes the mail that informs a person that their agent or app withdrew its message, and whether staff may have it. */
export const composeWithdrawnMail = (
  urls: Pick<ServiceUrls, 'endClaim' | 'origin'>,
  message: WithdrawnMessage,
): MailContent => ({
  to: message.replyTo,
  subject: 'A message to Plainpath was withdrawn',
  text: fillWithdrawnTemplate({
    day: formatLongDate(message.createdAt),
    delivery: message.mayBeDelivered ? '' : 'Our staff will not see it. ',
    agent: referToWithdrawer(message),
    nextStep: message.mayBeDelivered
      ? `${describeStaffCopy(urls.origin)}\n\n`
      : 'You do not need to do anything. ',
    ifNotWanted:
      message.agent?.endSecret === undefined
        ? 'If you did not want this, end its access by the\nlink in the receipt of the message.'
        : `If you did not want this, open this link and\npress the button to end its access:\n${urls.endClaim(message.agent.endSecret)}`,
    id: message.id,
  }),
})

function referToWithdrawer({ agent, agentDomain }: WithdrawnMessage): string {
  if (agent) return referToAgentInMail(agent)
  // Messages do not store the host of an app. Without `agent`, the writer may be an app or an agent.
  return agentDomain === null ? 'An AI agent or app' : referToAgentInMail({ verifiedDomain: agentDomain })
}

/** Composes the mail whose link confirms a message. Its text contains nothing that the person typed into the form. */
export const composeConfirmMail = (
  urls: ServiceUrls,
  message: { replyTo: string; secret: string },
): MailContent => ({
  to: message.replyTo,
  subject: 'Send your message to Plainpath',
  text: fillConfirmTemplate({ urls, secret: message.secret }),
})

import { durationIn, RULES } from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'
import type { NewMessage } from './contact-message.ts'

const deskText = readTemplate(new URL('./desk-mail.template.txt', import.meta.url), [
  'wrote',
  'text',
  'topic',
  'guide',
  'id',
])
const receiptText = readTemplate(new URL('./receipt-mail.template.txt', import.meta.url), ['urls', 'id'])
const confirmText = readTemplate(
  new URL('./confirm-mail.template.txt', import.meta.url),
  ['urls', 'secret'],
  { unconfirmedLasts: durationIn('hour', RULES.unconfirmedMessageMs) },
)

const WROTE = {
  person: 'A person who verified this address wrote',
  agent: 'An AI agent wrote for a person who verified this address and let it',
} as const

/** To the people who answer. Each line of the person's text is marked, so that none can pass for ours. */
export const deskMail = (
  deskAddress: string,
  message: NewMessage,
  writtenBy: keyof typeof WROTE,
): MailContent => ({
  to: deskAddress,
  replyTo: message.replyTo,
  subject: `Message ${message.id} (${message.topic})`,
  text: deskText({
    wrote: WROTE[writtenBy],
    text: quoted(message.text),
    topic: message.topic,
    guide: message.guideSlug ?? 'none',
    id: message.id,
  }),
})

const quoted = (text: string) => text.replaceAll(/^/gm, '| ')

/** To the person for whom an agent wrote. Nothing in it comes from the agent. */
export const receiptMail = (urls: ServiceUrls, message: { id: string; replyTo: string }): MailContent => ({
  to: message.replyTo,
  subject: 'We received your message to Plainpath',
  text: receiptText({ urls, id: message.id }),
})

/** To who filled in the page. Nothing in it comes from the form but the address. */
export const confirmMail = (urls: ServiceUrls, about: { replyTo: string; secret: string }): MailContent => ({
  to: about.replyTo,
  subject: 'Send your message to Plainpath',
  text: confirmText({ urls, secret: about.secret }),
})

import type { MailContent } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import type { NewMessage } from './contact-message.ts'

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
  text: `${WROTE[writtenBy]}; an answer to this mail goes to them.

${quoted(message.text)}

Topic: ${message.topic}
Guide: ${message.guideSlug ?? 'none'}
Message: ${message.id}
`,
})

const quoted = (text: string) => text.replaceAll(/^/gm, '| ')

/** To the person for whom an agent wrote. Nothing in it comes from the agent. */
export const receiptMail = (urls: ServiceUrls, message: { id: string; replyTo: string }): MailContent => ({
  to: message.replyTo,
  subject: 'We received your message to Plainpath',
  text: `An agent that you let write for you sent a message to the people behind Plainpath. Answers come to this address.

Message: ${message.id}

If you did not ask for it, end what the agent may do: the mail that told you of the agent has the link.
${urls.privacy} says how long we keep messages.
`,
})

/** To who filled in the page. Nothing in it comes from the form but the address. */
export const confirmMail = (urls: ServiceUrls, about: { replyTo: string; secret: string }): MailContent => ({
  to: about.replyTo,
  subject: 'Send your message to Plainpath',
  text: `Somebody wrote a message to Plainpath and gave this address for the answer.

If that was you, open this page and press its button. Only then the message is sent:
${urls.origin}/contact/confirm?link=${about.secret}

If it was not you, ignore this mail. The message is erased after 24 hours.
`,
})

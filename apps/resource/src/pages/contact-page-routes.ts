import { randomUUID } from 'node:crypto'
import {
  type ContactStatus,
  ContactText,
  ContactTopic,
  canonicalEmail,
  durationIn,
  EmailAddress,
  HandOff,
  RULES,
} from '@plainpath/domain'
import { guideSections } from '@plainpath/guides'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  type ContactField,
  contactMailedPage,
  contactPage,
  groupDigits,
  type Html,
  replyHelp,
} from '@plainpath/pages'
import { z } from 'zod'
import { confirmMail } from '../contact/contact-mails.ts'
import { duplicateMessage, notWithdrawn } from '../contact/contact-problems.ts'
import type { ContactStore } from '../contact/contact-store.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { CONTACT_EMAIL, LIMITS } from '../limits.ts'
import { newLink } from '../link-secret.ts'
import { type ClosedLink, DEAD_LINK, linkPageRoutes } from './link-page-routes.ts'
import { answerForm, FormText, PAGE } from './page.ts'

const Typed = z.object({
  topic: FormText,
  message: FormText,
  email: FormText,
  /** Hidden fields of a form that follows an answer. */
  trigger: z.union([z.string().transform((trigger) => [trigger]), z.array(z.string())]).default([]),
  handOff: FormText,
})
const Sent = z.object({
  topic: ContactTopic,
  message: ContactText,
  email: EmailAddress,
  handOff: HandOff.optional(),
})

const TITLE = 'Write to us'
const MISTAKES: Readonly<Record<ContactField, string>> = {
  topic: 'Choose what your message is about.',
  message: 'Write your message first.',
  email: 'Type your e-mail address, such as ana@example.org.',
  handOff: 'Your answer came without its reasons. Send your message without them.',
}

function messageMistake(typed: string): string {
  const count = [...typed.trim()].length
  if (count === 0) return MISTAKES.message
  return count > RULES.messageCharacters
    ? `Your message has ${groupDigits(count)} characters. Shorten it to ${groupDigits(RULES.messageCharacters)}.`
    : 'Your message has signs that we cannot read. Type it again.'
}

/** What the link that withdraws a message says, by the state of the message. */
const CLOSED: Readonly<Record<ContactStatus | 'unknown', ClosedLink | undefined>> = {
  unknown: DEAD_LINK,
  received: undefined,
  erased: {
    status: 410,
    title: 'This message is withdrawn',
    text: 'This message was already withdrawn. It does not go to our staff. You do not need to do anything.',
  },
  delivered: {
    status: 410,
    title: 'Our staff have your message',
    text: `It can no longer be withdrawn. You can ask our staff to erase it: reply to an e-mail from them, or write to us again, and name the message number in the receipt. Staff then erase it here and delete the e-mail from their mailbox. If you do not ask, we erase it here ${durationIn('day', RULES.deliveredMessageMs)} after delivery, and the mailbox of our staff keeps its copy until they delete it. The answer still comes to you by e-mail.`,
  },
}

/** The page to write to the desk, and the one that its mailed link opens. A message is sent only from there. */
export function contactPageRoutes(deps: {
  contact: Pick<ContactStore, 'storeUnconfirmed' | 'confirm' | 'findByWithdrawLink' | 'withdraw'>
  guides: { current(): GuideCatalog }
  urls: ServiceUrls
  now: () => Date
}): Route[] {
  const { contact, guides, urls, now } = deps
  const answer = <Status extends number>(status: Status, title: string, body: Html) =>
    answerForm(urls, status, { path: '/contact', title, body, noindex: title !== TITLE })
  /** A form that names the section of a guide, where a link to report a mistake led here; else an empty one. */
  function aboutPassage(id: string) {
    const guide = guides.current().find(id.split('#')[0] ?? '')
    const section = guide && guideSections(guide).find((each) => each.id === id)
    return section && { topic: 'correction', message: `About “${section.heading}” (${section.id}):\n\n` }
  }
  const page = defineRoute({
    ...PAGE,
    path: '/contact',
    operationId: 'contactPage',
    summary: 'The form to write to the people behind Plainpath',
    request: { query: z.object({ passage: FormText }) },
    handle: ({ query: { passage } }) =>
      answer(200, TITLE, contactPage({ ...aboutPassage(passage), url: `${urls.origin}/contact` })),
  })
  const write = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/contact',
    operationId: 'writeByForm',
    summary: 'Takes the form, and mails a link that sends the message',
    limits: LIMITS.contactForm,
    form: true,
    request: { body: Typed },
    responses: { 202: z.string(), 400: z.string() },
    async handle({ body: { trigger: triggers, ...typed }, request }) {
      const isTold = typed.handOff !== ''
      const sent = Sent.safeParse({ ...typed, handOff: isTold ? { triggers } : undefined })
      if (!sent.success) {
        const fields = new Set(sent.error.issues.map(({ path }) => path[0]))
        const texts = { ...MISTAKES, message: messageMistake(typed.message) }
        const mistakes = Object.fromEntries(Object.entries(texts).filter(([field]) => fields.has(field)))
        const known = HandOff.safeParse({ triggers }).data
        const form = { ...typed, handOff: known && { ...known, isTold }, mistakes }
        return answer(400, 'Mistake: write to us', contactPage(form))
      }
      const { topic, message, email, handOff } = sent.data
      await request.take(CONTACT_EMAIL, canonicalEmail(email) ?? email)
      const link = newLink()
      const kept = {
        id: randomUUID(),
        topic,
        text: message,
        guideSlug: null,
        triggers: handOff?.triggers ?? [],
        agentDomain: null,
        replyTo: email,
        createdAt: now(),
      }
      const mail = confirmMail(urls, { replyTo: email, secret: link.secret })
      await contact.storeUnconfirmed(kept, link.stored, { ...mail, sender: request.network() })
      return answer(202, 'Open the e-mail that we send you', contactMailedPage())
    },
  })
  const confirm = linkPageRoutes(
    {
      path: '/contact/confirm',
      operationId: 'confirmMessagePage',
      ask: {
        title: 'Send your message',
        text: 'Press the button to send the message that you wrote on our page.',
        button: 'Send my message',
      },
      done: {
        title: 'Your message is sent',
        text: 'It goes to our staff soon. We now send you an e-mail that says when. Until then, you can withdraw your message by the link in that e-mail.',
        more: replyHelp(),
      },
      async act(linkHash) {
        const confirmed = await contact.confirm(linkHash, now())
        if (confirmed.ok) return true
        if (confirmed.error === 'not-found') return false
        throw duplicateMessage(confirmed.error.duplicateOf)
      },
    },
    urls,
  )
  const withdraw = linkPageRoutes(
    {
      path: '/contact/withdraw',
      operationId: 'withdrawMessagePage',
      ask: {
        title: 'Withdraw your message',
        text: 'If you press the button, we erase the message, and it does not go to our staff.',
        button: 'Withdraw my message',
        otherwise: 'If you do nothing, the message goes to our staff at the time stated in the e-mail.',
      },
      done: { title: 'Your message is erased', text: 'It did not go to our staff.' },
      closed: async (linkHash) => CLOSED[(await contact.findByWithdrawLink(linkHash)) ?? 'unknown'],
      async act(linkHash) {
        const withdrawn = await contact.withdraw({ linkHash }, now())
        if (withdrawn.ok) return true
        if (withdrawn.error === 'not-found') return false
        throw notWithdrawn(withdrawn.error)
      },
    },
    urls,
  )
  return [page, write, ...confirm, ...withdraw]
}

import { randomUUID } from 'node:crypto'
import {
  type ContactStatus,
  ContactText,
  ContactTopic,
  canonicalizeEmail,
  durationIn,
  EmailAddress,
  HandOff,
  RULES,
} from '@plainpath/domain'
import { listGuideSections } from '@plainpath/guides'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  type ContactField,
  groupDigits,
  type Html,
  LEAVE_HEADERS,
  renderContactMailedPage,
  renderContactPage,
  renderQuickExit,
  renderReplyHelp,
} from '@plainpath/pages'
import { z } from 'zod'
import { composeConfirmMail } from '../contact/contact-mails.ts'
import { createDuplicateMessageProblem, createNotWithdrawnProblem } from '../contact/contact-problems.ts'
import type { ContactStore } from '../contact/contact-store.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { CONTACT_EMAIL, LIMITS } from '../limits.ts'
import { createLink } from '../link-secret.ts'
import { type ClosedLink, createLinkPageRoutes, UNKNOWN_LINK } from './link-page-routes.ts'
import { createFormResponse, FormText, PAGE } from './page.ts'

const ContactForm = z.object({
  topic: FormText,
  message: FormText,
  email: FormText,
  /** The ids of hand-off triggers, from hidden fields of the form below an answer. One field arrives as a string. */
  trigger: z.union([z.string().transform((trigger) => [trigger]), z.array(z.string())]).default([]),
  /** The value of the checkbox that shares the triggers with the staff; empty unless the person ticks it. */
  handOff: FormText,
})
const ValidForm = z.object({
  topic: ContactTopic,
  message: ContactText,
  email: EmailAddress,
  handOff: HandOff.optional(),
})

const TITLE = 'Write to us'
const MISTAKE_TEXTS: Readonly<Record<ContactField, string>> = {
  topic: 'Choose what your message is about.',
  message: 'Write your message first.',
  email: 'Type your e-mail address, such as ana@example.org.',
  handOff: 'Your answer came without its reasons. Send your message without them.',
}

function describeMessageMistake(text: string): string {
  const count = [...text.trim()].length
  if (count === 0) return MISTAKE_TEXTS.message
  return count > RULES.messageCharacters
    ? `Your message has ${groupDigits(count)} characters. Shorten it to ${groupDigits(RULES.messageCharacters)}.`
    : 'Your message contains characters that we cannot read. Please type it again.'
}

/** The page of a closed withdrawal link, by message status; undefined while the message can be withdrawn. */
const CLOSED_LINKS: Readonly<Record<ContactStatus, ClosedLink | undefined>> = {
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

/** Describes the closed link of a message that was withdrawn and erased, but that staff may have. */
const describeMayBeDelivered = (id: string): ClosedLink => ({
  status: 410,
  title: 'Your message is erased, but our staff may have it',
  text: `We erased your message and will not send it again. Before that, we tried to send it, so our staff may have received it by e-mail. You can ask them to delete the e-mail from their mailbox: reply to an e-mail from them, or write to us again, and name the message number ${id}. If you do not ask, the mailbox of our staff keeps its copy until they delete it, and an answer may still come to you by e-mail.`,
})

/** Creates the routes for the contact form, and for the mailed links that send and withdraw a message. */
export function createContactPageRoutes(deps: {
  contact: Pick<ContactStore, 'storeUnconfirmed' | 'confirm' | 'findByWithdrawLink' | 'withdraw'>
  guides: { current(): GuideCatalog }
  urls: ServiceUrls
  now: () => Date
}): Route[] {
  const { contact, guides, urls, now } = deps
  /**
   * Creates a response with the quick exit. Pages on urgent help link here, and somebody may be watching the writer. Search
   * engines may index only the form, whose title is `TITLE`.
   */
  const respond = <Status extends number>(status: Status, title: string, body: Html) => {
    const page = { path: '/contact', title, body, noindex: title !== TITLE, quickExit: renderQuickExit() }
    const { headers, ...response } = createFormResponse(urls, status, page)
    return { ...response, headers: { ...headers, ...LEAVE_HEADERS } }
  }
  /**
   * Fills in the form for a person who followed a section's link to report a mistake. Returns undefined for an unknown section.
   *
   * @param id the section: `guide#anchor`, or the slug alone for an introduction
   */
  function prefillForPassage(id: string) {
    const guide = guides.current().find(id.split('#')[0] ?? '')
    const section = guide && listGuideSections(guide).find((each) => each.id === id)
    return section && { topic: 'correction', message: `About “${section.heading}” (${section.id}):\n\n` }
  }
  const pageRoute = defineRoute({
    ...PAGE,
    path: '/contact',
    operationId: 'contactPage',
    summary: 'The form to write to the people behind Plainpath',
    request: { query: z.object({ passage: FormText }) },
    handle: ({ query: { passage } }) =>
      respond(
        200,
        TITLE,
        renderContactPage({ ...prefillForPassage(passage), url: `${urls.origin}/contact` }),
      ),
  })
  const writeRoute = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/contact',
    operationId: 'writeByForm',
    summary: 'Takes the form, and mails a link that sends the message',
    limits: LIMITS.contactForm,
    form: true,
    request: { body: ContactForm },
    responses: { 202: z.string(), 400: z.string() },
    async handle({ body: { trigger: triggers, ...typedFields }, request }) {
      const areReasonsShared = typedFields.handOff !== ''
      const form = ValidForm.safeParse({
        ...typedFields,
        handOff: areReasonsShared ? { triggers } : undefined,
      })
      if (!form.success) {
        const invalidFields = new Set(form.error.issues.map(({ path }) => path[0]))
        const texts = { ...MISTAKE_TEXTS, message: describeMessageMistake(typedFields.message) }
        const mistakes = Object.fromEntries(
          Object.entries(texts).filter(([field]) => invalidFields.has(field)),
        )
        const validHandOff = HandOff.safeParse({ triggers }).data
        const formValues = {
          ...typedFields,
          handOff: validHandOff && { ...validHandOff, areReasonsShared },
          mistakes,
        }
        return respond(400, 'Error: Write to us', renderContactPage(formValues))
      }
      const { topic, message, email, handOff } = form.data
      // The fallback is never used, because `EmailAddress` accepts only addresses with a canonical form.
      await request.take(CONTACT_EMAIL, canonicalizeEmail(email) ?? email)
      const link = createLink()
      // The form names no guide, and it is for people, not for agents.
      const unconfirmed = {
        id: randomUUID(),
        topic,
        text: message,
        guideSlug: null,
        triggers: handOff?.triggers ?? [],
        agentDomain: null,
        replyTo: email,
        createdAt: now(),
      }
      const mail = composeConfirmMail(urls, { replyTo: email, secret: link.secret })
      await contact.storeUnconfirmed(unconfirmed, link.stored, {
        ...mail,
        requesterNetwork: request.network(),
      })
      return respond(202, 'Open the e-mail that we send you', renderContactMailedPage())
    },
  })
  const confirmRoutes = createLinkPageRoutes(
    {
      path: '/contact/confirm',
      operationId: 'confirmMessagePage',
      question: {
        title: 'Send your message',
        text: 'Press the button to send the message that you wrote on our page.',
        button: 'Send my message',
      },
      success: {
        title: 'Your message is sent',
        text: 'It goes to our staff soon. We now send you an e-mail that says when. Until then, you can withdraw your message by the link in that e-mail.',
        more: renderReplyHelp(),
      },
      usedLink: {
        status: 404,
        title: 'This link no longer works',
        text: 'It was used before, or it has expired. If you pressed the button twice, or loaded this page again, the first press sent your message, and we send you an e-mail about it. If no e-mail comes, the link has expired, and you have to write your message again.',
      },
      async act(linkHash) {
        const confirmation = await contact.confirm(linkHash, now())
        if (confirmation.ok) return true
        if (confirmation.error === 'not-found') return false
        throw createDuplicateMessageProblem(confirmation.error.duplicateOf)
      },
    },
    urls,
  )
  const withdrawRoutes = createLinkPageRoutes(
    {
      path: '/contact/withdraw',
      operationId: 'withdrawMessagePage',
      question: {
        title: 'Withdraw your message',
        text: 'If you press the button, we erase the message and stop sending it. If we have already tried to send it, the next page says so.',
        button: 'Withdraw my message',
        otherwise: 'If you do nothing, the message goes to our staff at the time stated in the e-mail.',
      },
      success: { title: 'Your message is erased', text: 'It did not go to our staff.' },
      async findClosedLink(linkHash) {
        const message = await contact.findByWithdrawLink(linkHash)
        if (!message) return UNKNOWN_LINK
        const { id, status, mayBeDelivered } = message
        return status === 'erased' && mayBeDelivered ? describeMayBeDelivered(id) : CLOSED_LINKS[status]
      },
      async act(linkHash) {
        const withdrawal = await contact.withdraw({ linkHash }, now())
        if (withdrawal.ok) return !withdrawal.value.mayBeDelivered
        if (withdrawal.error === 'not-found') return false
        throw createNotWithdrawnProblem(withdrawal.error)
      },
    },
    urls,
  )
  return [pageRoute, writeRoute, ...confirmRoutes, ...withdrawRoutes]
}

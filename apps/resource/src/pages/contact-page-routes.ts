import { randomUUID } from 'node:crypto'
import { ContactText, ContactTopic, canonicalEmail, EmailAddress, RULES } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { type ContactField, contactMailedPage, contactPage, type Html } from '@plainpath/pages'
import { z } from 'zod'
import { confirmMail } from '../contact/contact-mails.ts'
import type { ContactStore } from '../contact/contact-store.ts'
import { CONTACT_EMAIL, LIMITS } from '../limits.ts'
import { newLink } from '../link-secret.ts'
import { linkPageRoutes } from './link-page-routes.ts'
import { answerForm, FormText, PAGE } from './page.ts'

const Typed = z.object({ topic: FormText, message: FormText, email: FormText })
const Sent = z.object({ topic: ContactTopic, message: ContactText, email: EmailAddress })

const TITLE = 'Write to us'
const MISTAKES: Readonly<Record<ContactField, string>> = {
  topic: 'Choose what your message is about.',
  message: `Write a message of at most ${RULES.messageCharacters} characters.`,
  email: 'Type your e-mail address, such as ana@example.org.',
}

/** The page to write to the desk, and the one that its mailed link opens. A message is sent only from there. */
export function contactPageRoutes(deps: {
  contact: Pick<ContactStore, 'keepUnconfirmed' | 'confirm'>
  urls: ServiceUrls
  now: () => Date
}): Route[] {
  const { contact, urls, now } = deps
  const answer = <Status extends number>(status: Status, title: string, body: Html) =>
    answerForm(urls, status, { path: '/contact', title, body, noindex: title !== TITLE })
  const page = defineRoute({
    ...PAGE,
    path: '/contact',
    operationId: 'contactPage',
    summary: 'The form to write to the people behind Plainpath',
    handle: () => answer(200, TITLE, contactPage()),
  })
  const write = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/contact',
    operationId: 'writeByForm',
    summary: 'Takes the form, and mails a link that sends the message',
    limits: LIMITS.contact,
    form: true,
    request: { body: Typed },
    responses: { 202: z.string(), 400: z.string() },
    async handle({ body: typed, request }) {
      const sent = Sent.safeParse(typed)
      if (!sent.success) {
        const fields = new Set(sent.error.issues.map(({ path }) => path[0]))
        const mistakes = Object.fromEntries(Object.entries(MISTAKES).filter(([field]) => fields.has(field)))
        return answer(400, 'Mistake: write to us', contactPage({ ...typed, mistakes }))
      }
      const { topic, message, email } = sent.data
      await request.take(CONTACT_EMAIL, canonicalEmail(email) ?? email)
      const link = newLink()
      const kept = {
        id: randomUUID(),
        topic,
        text: message,
        guideSlug: null,
        replyTo: email,
        createdAt: now(),
      }
      await contact.keepUnconfirmed(
        kept,
        link.stored,
        confirmMail(urls, { replyTo: email, secret: link.secret }),
      )
      return answer(202, 'Open the mail that we send you', contactMailedPage())
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
      done: { title: 'Your message is sent', text: 'We answer to the address that you gave.' },
      act: (linkHash) => contact.confirm(linkHash, now()),
    },
    urls,
  )
  return [page, write, ...confirm]
}

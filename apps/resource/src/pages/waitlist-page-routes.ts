import { durationInWords, JoinWaitlistRequest, ReferralSlug, RULES } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { type Html, renderAlreadyJoinedPage, renderJoinedPage, renderWaitlistPage } from '@plainpath/pages'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { JoinWaitlist } from '../waitlist/join-waitlist.ts'
import type { WaitlistStore } from '../waitlist/waitlist-store.ts'
import { createLinkPageRoutes } from './link-page-routes.ts'
import { createFormResponse, FormText, PAGE } from './page.ts'

const TrimmedText = FormText.transform((text) => text.trim())
const WaitlistFields = z.object({ email: TrimmedText, referredBySlug: TrimmedText })

/** Parses the `ref` of a referral link. Any text that is not a slug becomes undefined. */
export const ReferralQuery = z.object({
  ref: TrimmedText.transform((slug) => ReferralSlug.safeParse(slug).data),
})

/** Creates the routes for the waitlist page and its form, which does the same as `POST /api/waitlist`. */
export function createWaitlistPageRoutes(deps: { joinWaitlist: JoinWaitlist; urls: ServiceUrls }): Route[] {
  const respond = <Status extends number>(status: Status, title: string, body: Html) =>
    createFormResponse(deps.urls, status, { path: '/waitlist', title, body, noindex: true })

  const pageRoute = defineRoute({
    ...PAGE,
    path: '/waitlist',
    operationId: 'waitlistPage',
    summary: 'The form of the waitlist',
    request: { query: ReferralQuery },
    handle: ({ query: { ref } }) =>
      respond(200, 'Join the waitlist', renderWaitlistPage({ referredBySlug: ref })),
  })

  const joinRoute = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/waitlist',
    operationId: 'joinWaitlistByForm',
    summary: 'Takes the form of the waitlist',
    limits: LIMITS.waitlist,
    form: true,
    request: { body: WaitlistFields },
    responses: { 200: z.string(), 201: z.string(), 400: z.string() },
    async handle({ body: { email, referredBySlug: typedSlug }, request }) {
      const referredBySlug = ReferralSlug.safeParse(typedSlug).data
      const person = JoinWaitlistRequest.safeParse({ email, referredBySlug })
      if (!person.success) {
        const form = renderWaitlistPage({ email, referredBySlug, mistake: describeMistake(email) })
        return respond(400, 'Error: Join the waitlist', form)
      }
      const addition = await deps.joinWaitlist(person.data, request)
      if (!addition.ok) return respond(200, 'Already on the waitlist', renderAlreadyJoinedPage())
      const referralUrl = deps.urls.referral(addition.value.referralSlug)
      return respond(201, 'You are on the waitlist', renderJoinedPage({ referralUrl }))
    },
  })

  return [pageRoute, joinRoute]
}

const describeMistake = (email: string) =>
  email === ''
    ? 'Type your e-mail address, such as ana@example.org.'
    : 'This is not an e-mail address. Type one such as ana@example.org.'

/** Creates the routes for the links in waitlist mails. */
export const createWaitlistLinkRoutes = (deps: {
  waitlist: Pick<WaitlistStore, 'confirm' | 'remove'>
  urls: ServiceUrls
  now: () => Date
}): Route[] => [
  ...createLinkPageRoutes(
    {
      path: '/waitlist/confirm',
      operationId: 'confirmWaitlistPage',
      question: {
        title: 'Confirm that you want to be on the waitlist',
        text: 'Press the button if you joined the waitlist, or if an agent added your e-mail address because you asked it to.',
        button: 'Confirm',
        otherwise:
          'If you do nothing, your address stays on the list. To take it off the list, use the other link in the e-mail.',
      },
      success: { title: 'You are confirmed', text: 'Your place on the waitlist is confirmed.' },
      act: (secretHash) => deps.waitlist.confirm(secretHash, deps.now()),
    },
    deps.urls,
  ),
  ...createLinkPageRoutes(
    {
      path: '/waitlist/remove',
      operationId: 'leaveWaitlistPage',
      question: {
        title: 'Take your address off the waitlist',
        text: 'If you press the button, we erase your e-mail address and your place on the waitlist.',
        button: 'Remove me',
      },
      success: {
        title: 'Your address is off the waitlist',
        text: 'We have erased it. The link that you could share no longer works.',
      },
      usedLink: {
        status: 404,
        title: 'This link no longer works',
        text: `It was used before, or it has expired. If you pressed the button twice, or loaded this page again, the first press took your address off the waitlist. If you asked for this link more than ${durationInWords('day', RULES.forgetLinkMs)} ago, it has expired. Write to us, and we take your address off the list.`,
      },
      act: (secretHash) => deps.waitlist.remove(secretHash, deps.now()),
    },
    deps.urls,
  ),
]

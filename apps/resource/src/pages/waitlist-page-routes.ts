import { JoinWaitlistRequest, ReferralSlug } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { alreadyJoinedPage, type Html, joinedPage, waitlistPage } from '@plainpath/pages'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { JoinWaitlist } from '../waitlist/join-waitlist.ts'
import type { WaitlistStore } from '../waitlist/waitlist-store.ts'
import { linkPageRoutes } from './link-page-routes.ts'
import { answerForm, FormText, PAGE } from './page.ts'

const text = FormText.transform((typed) => typed.trim())
const WaitlistFields = z.object({ email: text, referredBySlug: text })

/** Of what links carry as `ref`, only what can be a slug goes on. */
export const ReferralQuery = z.object({ ref: text.transform((sent) => ReferralSlug.safeParse(sent).data) })

/** The page of the waitlist, and where its form goes: the same function as `POST /api/waitlist`. */
export function waitlistPageRoutes(deps: { joinWaitlist: JoinWaitlist; urls: ServiceUrls }): Route[] {
  const answer = <Status extends number>(status: Status, title: string, body: Html) =>
    answerForm(deps.urls, status, { path: '/waitlist', title, body, noindex: true })

  const page = defineRoute({
    ...PAGE,
    path: '/waitlist',
    operationId: 'waitlistPage',
    summary: 'The form of the waitlist',
    request: { query: ReferralQuery },
    handle: ({ query: { ref } }) => answer(200, 'Join the waitlist', waitlistPage({ referredBySlug: ref })),
  })

  const join = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/waitlist',
    operationId: 'joinWaitlistByForm',
    summary: 'Takes the form of the waitlist',
    limits: LIMITS.waitlist,
    form: true,
    request: { body: WaitlistFields },
    responses: { 200: z.string(), 201: z.string(), 400: z.string() },
    async handle({ body: { email, referredBySlug: sent }, request }) {
      const referredBySlug = ReferralSlug.safeParse(sent).data
      const entry = JoinWaitlistRequest.safeParse({ email, referredBySlug })
      if (!entry.success) {
        const form = waitlistPage({ email, referredBySlug, mistake: mistakeIn(email) })
        return answer(400, 'Mistake: join the waitlist', form)
      }
      const joined = await deps.joinWaitlist(entry.data, request)
      if (!joined.ok) return answer(200, 'Already on the waitlist', alreadyJoinedPage())
      const referralUrl = deps.urls.referral(joined.value.referralSlug)
      return answer(201, 'You are on the waitlist', joinedPage({ referralUrl }))
    },
  })

  return [page, join]
}

const mistakeIn = (email: string) =>
  email === ''
    ? 'Type your e-mail address, such as ana@example.org.'
    : 'This is not an e-mail address. Type one such as ana@example.org.'

/** The pages of the links in mails of the waitlist. */
export const waitlistLinkRoutes = (deps: {
  waitlist: Pick<WaitlistStore, 'confirm' | 'remove'>
  urls: ServiceUrls
  now: () => Date
}): Route[] => [
  ...linkPageRoutes(
    {
      path: '/waitlist/confirm',
      operationId: 'confirmWaitlistPage',
      ask: {
        title: 'Confirm that you want to be on the waitlist',
        text: 'Press the button if you joined the waitlist, or if an agent added your e-mail address because you asked it to.',
        button: 'Confirm',
        otherwise:
          'If you do nothing, your address stays on the list. To take it off the list, use the other link in the e-mail.',
      },
      done: { title: 'You are confirmed', text: 'Your place on the waitlist is confirmed.' },
      act: (secretHash) => deps.waitlist.confirm(secretHash, deps.now()),
    },
    deps.urls,
  ),
  ...linkPageRoutes(
    {
      path: '/waitlist/remove',
      operationId: 'leaveWaitlistPage',
      ask: {
        title: 'Take your address off the waitlist',
        text: 'If you press the button, we erase your e-mail address and your place on the waitlist.',
        button: 'Remove me',
      },
      done: {
        title: 'Your address is off the waitlist',
        text: 'We have erased it. The link that you could share no longer works.',
      },
      act: (secretHash) => deps.waitlist.remove(secretHash),
    },
    deps.urls,
  ),
]

import { canonicalEmail, JoinWaitlistRequest, ReferralSlug } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { alreadyJoinedPage, type Html, joinedPage, renderPage, waitlistPage } from '@plainpath/pages'
import { z } from 'zod'
import { LIMITS, WAITLIST_EMAIL } from '../limits.ts'
import type { JoinWaitlist } from '../waitlist/join-waitlist.ts'
import { FORM_HEADERS, PAGE, PAGE_TYPE } from './page.ts'

/** A form and a link take any text: of a name that comes twice the first, and nothing is no mistake. */
const text = z
  .union([z.string(), z.array(z.string()).transform(([first = '']) => first)])
  .default('')
  .transform((typed) => typed.trim())
const WaitlistFields = z.object({ email: text, referredBySlug: text })

/** Of what links carry as `ref`, only what can be a slug goes on. */
export const ReferralQuery = z.object({ ref: text.transform((sent) => ReferralSlug.safeParse(sent).data) })

/** The page of the waitlist, and where its form goes: the same function as `POST /api/waitlist`. */
export function waitlistPageRoutes(deps: { joinWaitlist: JoinWaitlist; urls: ServiceUrls }): Route[] {
  const render = (title: string, body: Html) =>
    renderPage({ origin: deps.urls.origin, path: '/waitlist', title, body, noindex: true })
  const answer = <Status extends number>(status: Status, title: string, body: Html) => ({
    status,
    headers: FORM_HEADERS,
    text: { type: PAGE_TYPE, content: render(title, body) },
  })

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
      const entry = entryOf(email, referredBySlug)
      if (!entry) {
        const form = waitlistPage({ email, referredBySlug, mistake: mistakeIn(email) })
        return answer(400, 'Mistake: join the waitlist', form)
      }
      await request.take(WAITLIST_EMAIL, entry.canonicalEmail)
      const joined = await deps.joinWaitlist(entry)
      if (!joined.ok) return answer(200, 'Already on the waitlist', alreadyJoinedPage())
      const referralUrl = deps.urls.referral(joined.value.referralSlug)
      return answer(201, 'You are on the waitlist', joinedPage({ referralUrl }))
    },
  })

  return [page, join]
}

/** Undefined for what the API would refuse. */
function entryOf(email: string, referredBySlug: string | undefined) {
  const parsed = JoinWaitlistRequest.safeParse({ email, referredBySlug })
  const canonical = canonicalEmail(email)
  return parsed.success && canonical !== undefined ? { ...parsed.data, canonicalEmail: canonical } : undefined
}

const mistakeIn = (email: string) =>
  email === ''
    ? 'Type your e-mail address, such as ana@example.org.'
    : 'This is not an e-mail address. Type one such as ana@example.org.'

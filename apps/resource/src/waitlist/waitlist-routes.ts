import { canonicalEmail } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS, WAITLIST_FORGET_EMAIL } from '../limits.ts'
import { answerJoin } from './answer-join.ts'
import type { ForgetWaitlist } from './forget-waitlist.ts'
import type { JoinWaitlist } from './join-waitlist.ts'

export function waitlistRoutes(deps: {
  joinWaitlist: JoinWaitlist
  forgetWaitlist: ForgetWaitlist
  urls: ServiceUrls
}): Route[] {
  const joinAs = answerJoin(deps)
  const join = defineRoute({
    ...operations.joinWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body, request }) {
      const answer = await joinAs(body, request)
      return answer.status === 'joined' ? { status: 201, body: answer } : { status: 200, body: answer }
    },
  })
  const forget = defineRoute({
    ...operations.forgetWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body: { email }, request }) {
      const canonical = canonicalEmail(email)
      if (canonical === undefined) throw new Error('an address without a canonical form passed its schema')
      await request.take(WAITLIST_FORGET_EMAIL, canonical)
      await deps.forgetWaitlist({ email, canonicalEmail: canonical })
      return { status: 202, body: { status: 'accepted' } }
    },
  })
  return [join, forget]
}

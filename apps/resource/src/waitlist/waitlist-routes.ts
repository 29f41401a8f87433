import { defineRoute, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS, WAITLIST_FORGET_EMAIL } from '../limits.ts'
import { newLink } from '../link-secret.ts'
import { canonicalMailbox, type JoinWaitlist, joinForPrograms } from './join-waitlist.ts'
import { forgetMail } from './waitlist-mails.ts'
import type { WaitlistStore } from './waitlist-store.ts'

export function waitlistRoutes(deps: {
  joinWaitlist: JoinWaitlist
  waitlist: Pick<WaitlistStore, 'requestRemoval'>
  urls: ServiceUrls
  now: () => Date
}): Route[] {
  const joinAs = joinForPrograms(deps)
  const join = defineRoute({
    ...operations.joinWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body, request }) {
      const answer = await joinAs(body, request)
      return answer.status === 'joined' ? { status: 201, body: answer } : { status: 200, body: answer }
    },
  })
  /**
   * Asks the owner of a mailbox by mail whether to remove it from the waitlist. The route does and stores the same for every
   * address, so that the response reveals nothing. The list is read only when the mail is about to be sent.
   */
  const forget = defineRoute({
    ...operations.forgetWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body: { email }, request }) {
      const mailbox = canonicalMailbox(email)
      await request.take(WAITLIST_FORGET_EMAIL, mailbox)
      const link = newLink()
      await deps.waitlist.requestRemoval({
        canonicalEmail: mailbox,
        link: link.stored,
        mail: { ...forgetMail(deps.urls, { email, removeSecret: link.secret }), sender: request.network() },
        askedAt: deps.now(),
      })
      return { status: 202, body: { status: 'accepted' } }
    },
  })
  return [join, forget]
}

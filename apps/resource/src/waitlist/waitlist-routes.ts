import { defineRoute, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS, WAITLIST_FORGET_EMAIL } from '../limits.ts'
import { newLink } from '../link-secret.ts'
import { answerJoin, type JoinWaitlist, mailboxOf } from './join-waitlist.ts'
import { forgetMail } from './waitlist-mails.ts'
import type { WaitlistStore } from './waitlist-store.ts'

export function waitlistRoutes(deps: {
  joinWaitlist: JoinWaitlist
  waitlist: Pick<WaitlistStore, 'askToForget'>
  urls: ServiceUrls
  now: () => Date
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
  /**
   * Asks the owner of a mailbox, by mail, whether it is to be taken off the waitlist. The same is done and stored for
   * every address; whether it is on the list is looked up when the mail would go out.
   */
  const forget = defineRoute({
    ...operations.forgetWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body: { email }, request }) {
      const mailbox = mailboxOf(email)
      await request.take(WAITLIST_FORGET_EMAIL, mailbox)
      const link = newLink()
      await deps.waitlist.askToForget({
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

import { defineRoute, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS, WAITLIST_FORGET_EMAIL } from '../limits.ts'
import { createLink } from '../link-secret.ts'
import { createJoinAndDescribe, type JoinWaitlist, toCanonicalMailbox } from './join-waitlist.ts'
import { composeRemovalMail } from './waitlist-mails.ts'
import type { WaitlistStore } from './waitlist-store.ts'

/** Creates the routes that add a person to the waitlist, and that request the removal of a mailbox. */
export function createWaitlistRoutes(deps: {
  joinWaitlist: JoinWaitlist
  waitlist: Pick<WaitlistStore, 'requestRemoval'>
  urls: ServiceUrls
  now: () => Date
}): Route[] {
  const joinAndDescribe = createJoinAndDescribe(deps)
  const joinRoute = defineRoute({
    ...operations.joinWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body, request }) {
      const responseBody = await joinAndDescribe(body, request)
      return responseBody.status === 'joined'
        ? { status: 201, body: responseBody }
        : { status: 200, body: responseBody }
    },
  })
  /**
   * Queues a mail that asks the owner of a mailbox whether to remove it from the waitlist. The response reveals nothing, because
   * the route does the same for every address: the list is read only when the mail is about to be sent.
   */
  const forgetRoute = defineRoute({
    ...operations.forgetWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body: { email }, request }) {
      const mailbox = toCanonicalMailbox(email)
      await request.take(WAITLIST_FORGET_EMAIL, mailbox)
      const link = createLink()
      await deps.waitlist.requestRemoval({
        canonicalEmail: mailbox,
        link: link.stored,
        mail: {
          ...composeRemovalMail(deps.urls, { email, removeSecret: link.secret }),
          requesterNetwork: request.network(),
        },
        requestedAt: deps.now(),
      })
      return { status: 202, body: { status: 'accepted' } }
    },
  })
  return [joinRoute, forgetRoute]
}

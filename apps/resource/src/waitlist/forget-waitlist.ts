import type { ServiceUrls } from '@plainpath/metadata'
import { newLink } from '../link-secret.ts'
import { forgetMail } from './waitlist-mails.ts'
import type { WaitlistStore } from './waitlist-store.ts'

export type ForgetWaitlist = (request: { email: string; canonicalEmail: string }) => Promise<void>

/**
 * Asks the owner of a mailbox, by mail, whether it is to be taken off the waitlist. The same is done and stored for
 * every address; whether it is on the list is looked up when the mail would go out.
 */
export const forgetWaitlist =
  (deps: { waitlist: WaitlistStore; urls: ServiceUrls; now: () => Date }): ForgetWaitlist =>
  async ({ email, canonicalEmail }) => {
    const link = newLink()
    await deps.waitlist.askToForget({
      canonicalEmail,
      link: link.stored,
      mail: forgetMail(deps.urls, { email, removeSecret: link.secret }),
      askedAt: deps.now(),
    })
  }

import type { MailHandler } from '@plainpath/mail'
import { WAITLIST_MAIL, type WaitlistStore } from './waitlist-store.ts'

/** Mails of the waitlist go out while their link is of use: not to who left, nor to who was never there. */
export function waitlistMailHandlers(waitlist: WaitlistStore): Record<string, MailHandler> {
  const wanted = (linkId: string) => waitlist.linkIsWanted(linkId)
  return { [WAITLIST_MAIL.joined]: { wanted }, [WAITLIST_MAIL.forget]: { wanted } }
}

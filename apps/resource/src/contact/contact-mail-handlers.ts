import type { MailHandler } from '@plainpath/mail'
import { CONTACT_MAIL, type ContactStore } from './contact-store.ts'

/** What was taken back is not sent; what the desk's mail server took is delivered. */
export const contactMailHandlers = (contact: ContactStore): Record<string, MailHandler> => ({
  [CONTACT_MAIL.desk]: {
    capped: false,
    wanted: (id) => contact.isIn(id, ['received']),
    settled: async (tx, id, outcome, now) => {
      if (outcome === 'sent') await contact.markDelivered(tx, id, now)
    },
  },
  // Over every cap, as the mail that ends a claim: strangers could use the caps up, and an agent then write unseen.
  [CONTACT_MAIL.receipt]: { capped: false, wanted: (id) => contact.isIn(id, ['received', 'delivered']) },
  [CONTACT_MAIL.confirm]: { wanted: (id) => contact.isIn(id, ['unconfirmed']) },
})

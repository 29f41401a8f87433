import { RULES } from '@plainpath/domain'
import type { MailHandler } from '@plainpath/mail'
import { CONTACT_MAIL } from './contact-mails.ts'
import type { ContactStore } from './contact-store.ts'

/**
 * Creates the handlers of mails about messages. The mails of an erased message are dropped, except the one that says that it was
 * withdrawn. Once the staff mail is sent, its message is marked as delivered.
 */
export const createContactMailHandlers = (contact: ContactStore): Record<string, MailHandler> => ({
  [CONTACT_MAIL.staff]: {
    capped: false,
    isWanted: (id) => contact.hasState(id, ['received']),
    onSettled: async (tx, id, outcome, now) => {
      if (outcome === 'sent') await contact.markDelivered(tx, id, now)
    },
  },
  // The receipt has no cap. Strangers could use up a cap, and an agent could then write without the person noticing.
  [CONTACT_MAIL.receipt]: {
    capped: false,
    isWanted: (id) => contact.hasState(id, ['received', 'delivered']),
  },
  // This mail needs no cap, because there is at most one for each receipt.
  [CONTACT_MAIL.withdrawn]: { capped: false },
  [CONTACT_MAIL.confirm]: {
    isWanted: (id) => contact.hasState(id, ['unconfirmed']),
    maxWaitMs: RULES.dayMailWaitsMs,
    renew: (id, now) => contact.renewLink(id, now),
  },
})

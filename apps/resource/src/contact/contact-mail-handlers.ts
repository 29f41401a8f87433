import { RULES } from '@plainpath/domain'
import type { MailHandler } from '@plainpath/mail'
import { CONTACT_MAIL } from './contact-mails.ts'
import type { ContactStore } from './contact-store.ts'

/**
 * Creates the handlers of mails about messages. Mails of a withdrawn message are dropped. When a staff mail was sent, its message
 * is marked as delivered.
 */
export const createContactMailHandlers = (contact: ContactStore): Record<string, MailHandler> => ({
  [CONTACT_MAIL.staff]: {
    capped: false,
    isWanted: (id) => contact.hasState(id, ['received']),
    onSettled: async (tx, id, outcome, now) => {
      if (outcome === 'sent') await contact.markDelivered(tx, id, now)
    },
  },
  // Has no cap: strangers could use up a cap, and an agent could then write without the person noticing.
  [CONTACT_MAIL.receipt]: {
    capped: false,
    isWanted: (id) => contact.hasState(id, ['received', 'delivered']),
  },
  // Needs no cap, since there is at most one such mail for each receipt.
  [CONTACT_MAIL.withdrawn]: { capped: false },
  [CONTACT_MAIL.confirm]: {
    isWanted: (id) => contact.hasState(id, ['unconfirmed']),
    maxWaitMs: RULES.dayMailWaitsMs,
    renew: (id, now) => contact.renewLink(id, now),
  },
})

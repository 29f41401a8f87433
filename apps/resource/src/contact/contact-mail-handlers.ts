import { RULES } from '@plainpath/domain'
import type { MailHandler } from '@plainpath/mail'
import { CONTACT_MAIL } from './contact-mails.ts'
import type { ContactStore } from './contact-store.ts'

/**
 * Creates the mail handlers for contact messages, one for each kind of mail. If the message of a mail was erased, `isWanted`
 * returns false, and the mail is dropped. The mail about a withdrawal has no such check: it is sent because its
 * message was erased.
 */
export const createContactMailHandlers = (contact: ContactStore): Record<string, MailHandler> => ({
  // Mails to our own staff are not capped.
  [CONTACT_MAIL.staff]: {
    isCapped: false,
    isWanted: (id) => contact.hasState(id, ['received']),
    onSettled: async (tx, id, outcome, now) => {
      if (outcome === 'sent') await contact.markDelivered(tx, id, now)
    },
  },
  // Receipts are not capped. If they were, strangers could use up the cap, and people would not get the receipt that tells them
  // that an agent wrote to staff.
  [CONTACT_MAIL.receipt]: {
    isCapped: false,
    isWanted: (id) => contact.hasState(id, ['received', 'delivered']),
  },
  // Not capped: a message has at most one mail about its withdrawal.
  [CONTACT_MAIL.withdrawn]: { isCapped: false },
  [CONTACT_MAIL.confirm]: {
    isWanted: (id) => contact.hasState(id, ['unconfirmed']),
    maxWaitMs: RULES.dayMailWaitsMs,
    renew: (id, now) => contact.renewLink(id, now),
  },
})

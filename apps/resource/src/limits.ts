import type { LimitPolicy, RouteLimits } from '@plainpath/http'

const MINUTE = 60
const FIVE_MINUTES = 300
const HOUR = 3600

const READS_ADDRESS: LimitPolicy = { name: 'reads-address', quota: 3000, windowSeconds: MINUTE, batch: 100 }
const READS_CLIENT: LimitPolicy = { name: 'reads-client', quota: 600, windowSeconds: MINUTE, batch: 20 }

/**
 * How much is allowed, before RESOURCE_LIMITS_FACTOR multiplies it.
 *
 * Where one person behind an address can use up what the others there have, the window is short: what was taken is
 * forgotten 5.5 minutes later at most, so that ten minutes after an abuse has stopped everybody there is served.
 */
export const LIMITS = {
  reads: {
    address: [READS_ADDRESS],
    anonymous: [{ name: 'reads-anonymous', quota: 120, windowSeconds: MINUTE, batch: 10 }],
    client: [READS_CLIENT],
  },
  /** Pages, documents and health: many people can share an address, and these cost little. */
  pages: { address: [READS_ADDRESS] },
  /** Where the buttons of mailed links go. Nobody guesses 256 random bits: this bounds the work, and is seldom reached. */
  links: { address: [{ name: 'links-address', quota: 100, windowSeconds: FIVE_MINUTES }] },
  /**
   * Messages of agents. No address is counted for a request with a token: a person had to verify a mailbox for it, so the
   * registration and the mailbox are counted instead, and nobody else at the address can use that up. What unknown tokens
   * of an address cost is bounded where they are introspected (`guardIntrospection`). Without a token all that is used up
   * is how often such requests are refused.
   */
  contact: {
    anonymous: [{ name: 'contact-anonymous', quota: 60, windowSeconds: FIVE_MINUTES }],
    client: [READS_CLIENT],
  },
  /** The form of the page: two messages a minute, as many as joins, since a mail to the typed address follows each. */
  contactForm: { address: [{ name: 'contact-form', quota: 10, windowSeconds: FIVE_MINUTES }] },
  waitlist: { address: [{ name: 'waitlist-address', quota: 120, windowSeconds: HOUR }] },
} as const satisfies Record<string, RouteLimits>

/** Counted under the canonical address. */
export const WAITLIST_EMAIL: LimitPolicy = { name: 'waitlist-email', quota: 5, windowSeconds: HOUR }

/** Requests to be forgotten, counted under the canonical address too: each may send a mail. */
export const WAITLIST_FORGET_EMAIL: LimitPolicy = { name: 'waitlist-forget', quota: 5, windowSeconds: HOUR }

/** Counted under the registration; mail follows, so nobody who cannot be counted is let through. */
export const CONTACT_REGISTRATION: LimitPolicy = {
  name: 'contact-registration',
  quota: 10,
  windowSeconds: HOUR,
  closed: true,
}

/** The same, counted under the mailbox that the person verified: one mailbox can let in many agents. */
export const CONTACT_MAILBOX: LimitPolicy = {
  name: 'contact-mailbox',
  quota: 20,
  windowSeconds: HOUR,
  closed: true,
}

/** Messages from the page, counted under the canonical address. */
export const CONTACT_EMAIL: LimitPolicy = {
  name: 'contact-email',
  quota: 5,
  windowSeconds: HOUR,
  closed: true,
}

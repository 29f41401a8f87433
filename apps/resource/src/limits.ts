import type { LimitPolicy, RouteLimits } from '@plainpath/http'

const MINUTE = 60
const FIVE_MINUTES = 300
const HOUR = 3600

const READS_ADDRESS: LimitPolicy = { name: 'reads-address', quota: 3000, windowSeconds: MINUTE, batch: 100 }
const READS_CLIENT: LimitPolicy = { name: 'reads-client', quota: 600, windowSeconds: MINUTE, batch: 20 }
/** In place of `READS_CLIENT` where the domain is verified. Three times as many: it may be one client of a whole service. */
const READS_VERIFIED: LimitPolicy = { name: 'reads-verified', quota: 1800, windowSeconds: MINUTE, batch: 60 }
/**
 * All clients of one registrable domain, which can have any number of them without a registration. As many as one address
 * gets, so that a domain is no way around the limits of addresses.
 */
const READS_DOMAIN: LimitPolicy = { name: 'reads-domain', quota: 3000, windowSeconds: MINUTE, batch: 100 }

/** The limits of an authenticated client, whatever it requests. */
const EACH_CLIENT = { client: [READS_CLIENT], verified: [READS_VERIFIED], domain: [READS_DOMAIN] }

/**
 * The limits of the routes. RESOURCE_LIMITS_FACTOR multiplies them.
 *
 * Where one person could use up the limit of all people who share an address, the window is short: a request counts for at most
 * 5.5 minutes. Ten minutes after an abuse has stopped, everybody at that address is served again.
 */
export const LIMITS = {
  reads: {
    address: [READS_ADDRESS],
    anonymous: [{ name: 'reads-anonymous', quota: 120, windowSeconds: MINUTE, batch: 10 }],
    ...EACH_CLIENT,
  },
  /** Pages, documents and health: many people can share an address, and these cost little. */
  pages: { address: [READS_ADDRESS] },
  /** The routes of mailed links. Nobody can guess 256 random bits, so this limit only bounds the work. */
  links: { address: [{ name: 'links-address', quota: 100, windowSeconds: FIVE_MINUTES }] },
  /**
   * Messages of agents. Requests with a token are counted by registration and by mailbox, not by address: a person had to verify
   * a mailbox for the token, so nobody else at the address can use up these limits. `guardIntrospection` bounds the cost of
   * unknown tokens. The limit `anonymous` only counts requests that are refused for lack of a token.
   */
  contact: {
    anonymous: [{ name: 'contact-anonymous', quota: 60, windowSeconds: FIVE_MINUTES }],
    ...EACH_CLIENT,
  },
  /** The form of the page: two messages a minute, as many as joins, since a mail to the typed address follows each. */
  contactForm: { address: [{ name: 'contact-form', quota: 10, windowSeconds: FIVE_MINUTES }] },
  waitlist: { address: [{ name: 'waitlist-address', quota: 120, windowSeconds: HOUR }] },
} as const satisfies Record<string, RouteLimits>

/** Joins of one mailbox, counted by its canonical address. */
export const WAITLIST_EMAIL: LimitPolicy = { name: 'waitlist-email', quota: 5, windowSeconds: HOUR }

/** Requests for removal of one mailbox, counted by its canonical address. Each may send a mail. */
export const WAITLIST_FORGET_EMAIL: LimitPolicy = { name: 'waitlist-forget', quota: 5, windowSeconds: HOUR }

/** Messages of one registration. Each sends mail, so requests are refused while they cannot be counted. */
export const CONTACT_REGISTRATION: LimitPolicy = {
  name: 'contact-registration',
  quota: 10,
  windowSeconds: HOUR,
  closed: true,
}

/** Messages for one verified mailbox, which may have confirmed many agents. */
export const CONTACT_MAILBOX: LimitPolicy = {
  name: 'contact-mailbox',
  quota: 20,
  windowSeconds: HOUR,
  closed: true,
}

/** Messages from the page, counted by the canonical address that was typed. */
export const CONTACT_EMAIL: LimitPolicy = {
  name: 'contact-email',
  quota: 5,
  windowSeconds: HOUR,
  closed: true,
}

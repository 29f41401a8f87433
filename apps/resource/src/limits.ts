import type { LimitPolicy, RouteLimits } from '@plainpath/http'

const MINUTE_SECONDS = 60
const FIVE_MINUTES_SECONDS = 300
const HOUR_SECONDS = 3600

const READS_ADDRESS: LimitPolicy = {
  name: 'reads-address',
  quota: 3000,
  windowSeconds: MINUTE_SECONDS,
  batch: 100,
}
const READS_CLIENT: LimitPolicy = {
  name: 'reads-client',
  quota: 600,
  windowSeconds: MINUTE_SECONDS,
  batch: 20,
}
/** Replaces `READS_CLIENT` for a client with a verified domain, which may serve many people. It is three times as high. */
const READS_VERIFIED: LimitPolicy = {
  name: 'reads-verified',
  quota: 1800,
  windowSeconds: MINUTE_SECONDS,
  batch: 60,
}
/**
 * Counts all clients of a registrable domain together, because one domain can have any number of unregistered clients. The quota
 * is the same as for an address, so a domain can make no more requests than an address.
 */
const READS_DOMAIN: LimitPolicy = {
  name: 'reads-domain',
  quota: 3000,
  windowSeconds: MINUTE_SECONDS,
  batch: 100,
}

/** Limits for an authenticated client. Its requests to all routes with these limits count together. */
const CLIENT_LIMITS = { client: [READS_CLIENT], verified: [READS_VERIFIED], domain: [READS_DOMAIN] }

/**
 * The route limits. RESOURCE_LIMITS_FACTOR multiplies them.
 *
 * One person could use up a limit that everybody at an address shares. Therefore, such limits have windows of at most five
 * minutes, so that the others are soon served again. The exception is `waitlist`, with a window of an hour.
 */
export const LIMITS = {
  /**
   * For requests that read through the API, and for the pages and parts of documents that take as long to create. On those, which
   * are `open`, all requests of an address count as `anonymous`.
   */
  reads: {
    address: [READS_ADDRESS],
    anonymous: [{ name: 'reads-anonymous', quota: 120, windowSeconds: MINUTE_SECONDS, batch: 10 }],
    ...CLIENT_LIMITS,
  },
  /**
   * For the other pages, whole documents, health, and requests without a route (404, 405). The quota is high, because many people can
   * share an address, and these requests are cheap.
   */
  pages: { address: [READS_ADDRESS] },
  /** For mailed links. Nobody can guess their 256 random bits, so this limit only bounds the load. */
  links: { address: [{ name: 'links-address', quota: 100, windowSeconds: FIVE_MINUTES_SECONDS }] },
  /**
   * For messages from agents. Requests with a token count against their registration and mailbox instead of their address. A
   * person had to verify the mailbox, so nobody else at the address can use up these limits. `guardIntrospection` bounds the cost
   * of unknown tokens. `anonymous` counts only requests that are refused for lack of a token.
   */
  contact: {
    anonymous: [{ name: 'contact-anonymous', quota: 60, windowSeconds: FIVE_MINUTES_SECONDS }],
    ...CLIENT_LIMITS,
  },
  /** For the contact form. Allows two messages a minute, as for the waitlist, because each mails the typed address. */
  contactForm: { address: [{ name: 'contact-form', quota: 10, windowSeconds: FIVE_MINUTES_SECONDS }] },
  waitlist: { address: [{ name: 'waitlist-address', quota: 120, windowSeconds: HOUR_SECONDS }] },
} as const satisfies Record<string, RouteLimits>

/** Limits how often one mailbox joins the waitlist. The key is the canonical address. */
export const WAITLIST_EMAIL: LimitPolicy = { name: 'waitlist-email', quota: 5, windowSeconds: HOUR_SECONDS }

/** Limits removal requests for one mailbox, each of which may send a mail. The key is the canonical address. */
export const WAITLIST_FORGET_EMAIL: LimitPolicy = {
  name: 'waitlist-forget',
  quota: 5,
  windowSeconds: HOUR_SECONDS,
}

/** Limits the messages from one registration. While the store fails, requests are refused, because each message sends mail. */
export const CONTACT_REGISTRATION: LimitPolicy = {
  name: 'contact-registration',
  quota: 10,
  windowSeconds: HOUR_SECONDS,
  failsClosed: true,
}

/** Limits the messages for one verified mailbox, whose owner may have confirmed many agents. */
export const CONTACT_MAILBOX: LimitPolicy = {
  name: 'contact-mailbox',
  quota: 20,
  windowSeconds: HOUR_SECONDS,
  failsClosed: true,
}

/** Limits the messages from the contact form. The key is the canonical form of the typed address. */
export const CONTACT_EMAIL: LimitPolicy = {
  name: 'contact-email',
  quota: 5,
  windowSeconds: HOUR_SECONDS,
  failsClosed: true,
}

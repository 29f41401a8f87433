import type { LimitPolicy, RouteLimits } from '@plainpath/http'

const MINUTE = 60
const HOUR = 3600

const READS_ADDRESS: LimitPolicy = { name: 'reads-address', quota: 3000, windowSeconds: MINUTE, batch: 100 }

/** How much is allowed, before RESOURCE_LIMITS_FACTOR multiplies it. */
export const LIMITS = {
  reads: {
    address: [READS_ADDRESS],
    anonymous: [{ name: 'reads-anonymous', quota: 120, windowSeconds: MINUTE, batch: 10 }],
    client: [{ name: 'reads-client', quota: 600, windowSeconds: MINUTE, batch: 20 }],
  },
  /** Pages, documents and health: many people can share an address, and these cost little. */
  pages: { address: [READS_ADDRESS] },
  /** Where the buttons of mailed links go. */
  links: { address: [{ name: 'links-address', quota: 120, windowSeconds: HOUR }] },
  contact: { address: [{ name: 'contact-address', quota: 60, windowSeconds: HOUR }] },
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

/** Messages from the page, counted under the canonical address. */
export const CONTACT_EMAIL: LimitPolicy = {
  name: 'contact-email',
  quota: 5,
  windowSeconds: HOUR,
  closed: true,
}

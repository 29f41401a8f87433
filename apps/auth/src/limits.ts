/*
 * The rate limits of the authorization server with their quotas. `@plainpath/http` enforces limits, and each route names the
 * limits that it uses.
 */
import { RULES } from '@plainpath/domain'
import type { LimitPolicy } from '@plainpath/http'

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 3600
/** The longest window of a limit per address. It is short, because one abuser can use up the quota of a shared address. */
const ADDRESS_WINDOW_SECONDS = 10 * MINUTE_SECONDS

/** The limits with their quotas, which `AUTH_LIMITS_FACTOR` multiplies. */
export const LIMITS = {
  /**
   * Registrations, and activations of URL clients. Unrelated agents may share an address, so the window is short. One
   * address can register at most 2,880 agents a day. A registration that is never used occupies a row for a week;
   * `AUTH_NEVER_USED_CLIENTS` bounds how many of them may exist an hour after they registered.
   */
  register: [{ name: 'register-address', quota: 20, windowSeconds: ADDRESS_WINDOW_SECONDS }],
  /**
   * Registrations of apps, and new apps that are known by a URL. A host registers for all its users from few addresses,
   * and some hosts register for each connection. An app that nobody uses occupies a row for 91 days;
   * `AUTH_NEVER_USED_CLIENTS` bounds how many of them may exist an hour after they registered. One address needs a week to reach
   * the default. The oldest unused apps are then deleted, so their registrations last a week.
   */
  registerApp: [{ name: 'register-app-address', quota: 100, windowSeconds: ADDRESS_WINDOW_SECONDS }],
  /** Requests to the token and revocation endpoints, and other requests in which agents authenticate, counted together. */
  address: [{ name: 'token-address', quota: 600, windowSeconds: MINUTE_SECONDS }],
  /** The same requests, counted for each client. */
  client: [{ name: 'token-client', quota: 120, windowSeconds: MINUTE_SECONDS }],
  /** Replaces `client` for a client with a verified domain. It is higher, since the client may act for a whole service. */
  verified: [{ name: 'token-verified', quota: 360, windowSeconds: MINUTE_SECONDS }],
  /**
   * Counts all clients of one registrable domain together, because a domain can have any number of clients without a
   * registration. It equals the limit of one address, so a domain cannot be used to exceed that limit.
   */
  domain: [{ name: 'token-domain', quota: 600, windowSeconds: MINUTE_SECONDS }],
  /** Pages for people, who may share an address. Mailing a code and entering one are limited further. */
  pages: [{ name: 'pages-address', quota: 120, windowSeconds: MINUTE_SECONDS }],
  /**
   * Documents, key sets, and requests without a route (404, 405). Each process prefetches up to `batch` requests from Redis. The count is therefore inexact, which is
   * harmless for these routes.
   */
  documents: [{ name: 'reads-address', quota: 3000, windowSeconds: MINUTE_SECONDS, batch: 100 }],
} as const satisfies Record<string, readonly LimitPolicy[]>

/** Limits of the routes that authenticate a client. */
export const CLIENT_LIMITS = {
  address: LIMITS.address,
  client: LIMITS.client,
  verified: LIMITS.verified,
  domain: LIMITS.domain,
}

/**
 * Verification mails that a client may cause. If they cannot be counted, requests are refused, since each mail may reach a
 * person. *Claim*, in the names of these limits, is the older term for a verification. Clients see these names in headers.
 */
export const VERIFICATION_MAIL_LIMIT: LimitPolicy = {
  name: 'claim-client',
  quota: RULES.verificationMails,
  windowSeconds: 24 * HOUR_SECONDS,
  failsClosed: true,
}
/**
 * Verification mails that clients at one address may cause. The limit exists because clients cost nothing, while the number of mails
 * is capped. A renewal, which is a mail to an e-mail address for which the client has a live verification, counts under
 * `RENEWAL_ADDRESS_LIMIT` instead.
 *
 * Ten in ten minutes are at most 1,440 a day from an IPv4 address or an IPv6 /64, and four times as many from a /48. The
 * caps allow 1,600 verification mails a day to one domain and 16,000 in all. Sixty people an hour can be verified from one
 * address, for the first time or after their verification has expired.
 */
export const VERIFICATION_ADDRESS_LIMIT: LimitPolicy = {
  name: 'claim-address',
  quota: 10,
  windowSeconds: ADDRESS_WINDOW_SECONDS,
  failsClosed: true,
}
/**
 * Renewals that clients at one address may cause. They count separately, so clients that nobody has confirmed cannot prevent them.
 * The limit exists because one person can confirm many clients with many mailboxes. With both limits, one address can cause 2,880
 * verification mails a day. To fill the cap of a domain (1,600), they would be 1,440 mails to anybody there, and 160 renewals to 32
 * mailboxes that confirmed the clients, since a mailbox gets five a day.
 */
export const RENEWAL_ADDRESS_LIMIT: LimitPolicy = { ...VERIFICATION_ADDRESS_LIMIT, name: 'claim-renewal' }
/** Verification mails that a client may cause to one mailbox, however its address is spelled. */
export const VERIFICATION_RESEND_LIMIT: LimitPolicy = {
  name: 'claim-resend',
  quota: 1,
  windowSeconds: RULES.verificationResendMs / 1000,
  failsClosed: true,
}

/**
 * Sign-in codes that browsers at one address may request by mail. The quota equals the quota of `VERIFICATION_ADDRESS_LIMIT`, for
 * the same reason. These mails count separately, so agents at the same address cannot keep people from signing in.
 */
export const SIGN_IN_ADDRESS_LIMIT: LimitPolicy = {
  name: 'sign-in-address',
  quota: 10,
  windowSeconds: ADDRESS_WINDOW_SECONDS,
  failsClosed: true,
}

/**
 * Fetches of documents of URL clients that an address may cause. A stored document is fetched at most every two and a half
 * minutes while fetches of it succeed, so 30 a minute are enough for 75 agents at one address.
 */
export const DOCUMENT_FETCH_LIMIT: LimitPolicy = {
  name: 'document-address',
  quota: 30,
  windowSeconds: MINUTE_SECONDS,
}

/**
 * Failed client authentications per network and client id. Above the limit, further failures get 429; correct credentials are
 * still accepted.
 */
export const FAILED_AUTHENTICATION_LIMIT: LimitPolicy = {
  name: 'client-authentication',
  quota: 20,
  windowSeconds: 10 * MINUTE_SECONDS,
}

/*
 * The rate limits of the authorization server: which there are, their quotas, and the store that counts them in Redis.
 * How a limit is counted and enforced is in `@plainpath/http`; which route uses which limit stands with the route.
 */
import { RULES } from '@plainpath/domain'
import { type LimitPolicy, type LimitStore, prefetchingLimitStore, redisLimitStore } from '@plainpath/http'
import type { Redis } from 'ioredis'
import { runRedisScript } from './tokens/run-redis-script.ts'

const MINUTE = 60
const HOUR = 3600
/** The longest window of a limit per address, since one abuser can exhaust it for others behind the same address. */
const ADDRESS_WINDOW_SECONDS = 10 * MINUTE

/** Quotas before `AUTH_LIMITS_FACTOR` multiplies them. */
export const LIMITS = {
  /**
   * Unrelated agents may share an address, so the window is short: at most 2 880 registrations a day from one address.
   * A URL client that begins counts as one.
   * A registration that is never used occupies a row for a week; `AUTH_NEVER_USED_CLIENTS` bounds them all.
   */
  register: [{ name: 'register-address', quota: 20, windowSeconds: ADDRESS_WINDOW_SECONDS }],
  /**
   * Hosts register for all their people from few addresses, and some register for each connection. An app that nobody uses
   * occupies a row for a day; `AUTH_NEVER_USED_CLIENTS` bounds them all. A document of an app that is new counts as one.
   */
  registerApp: [{ name: 'register-app-address', quota: 100, windowSeconds: ADDRESS_WINDOW_SECONDS }],
  /** Every request that presents client credentials, over all endpoints. */
  address: [{ name: 'token-address', quota: 600, windowSeconds: MINUTE }],
  client: [{ name: 'token-client', quota: 120, windowSeconds: MINUTE }],
  /** In place of `client` where the domain is verified. Three times as many: it may be one client of a whole service. */
  verified: [{ name: 'token-verified', quota: 360, windowSeconds: MINUTE }],
  /**
   * All clients of one registrable domain, which can have any number of them without a registration. As many as one
   * address gets, so that a domain is no way around the limits of addresses.
   */
  domain: [{ name: 'token-domain', quota: 600, windowSeconds: MINUTE }],
  /** Pages for people, who may share an address. What a mailed link can do has bounds of its own. */
  pages: [{ name: 'pages-address', quota: 120, windowSeconds: MINUTE }],
  documents: [{ name: 'reads-address', quota: 3000, windowSeconds: MINUTE, batch: 100 }],
} as const satisfies Record<string, readonly LimitPolicy[]>

/** Limits of the routes that authenticate a client. */
export const CLIENT_LIMITS = {
  address: LIMITS.address,
  client: LIMITS.client,
  verified: LIMITS.verified,
  domain: LIMITS.domain,
}

/** Verification mails that a client may cause. Fails closed, since each mail may reach a person. */
export const CLAIM_MAIL: LimitPolicy = {
  name: 'claim-client',
  quota: RULES.claimMails,
  windowSeconds: 24 * HOUR,
  closed: true,
}
/**
 * Verification mails that clients of one address may cause until each of them has completed a verification (`isUnrevoked`);
 * from then on a client has `CLAIM_MAIL` alone. Clients cost nothing, and the mails that may go out to all do.
 *
 * Ten in ten minutes are at most 1 440 a day from an IPv4 address or an IPv6 /64: less than the 1 600 that one domain
 * gets, so that one address cannot keep a mail provider's people from their mails, and one in eleven of the 16 000 that all
 * get. A /48 has four times as many. Sixty people an hour can be verified for the first time from behind one address.
 */
export const CLAIM_ADDRESS: LimitPolicy = {
  name: 'claim-address',
  quota: 10,
  windowSeconds: ADDRESS_WINDOW_SECONDS,
  closed: true,
}
/** Verification mails that a client may cause to one mailbox, however its address is spelled. */
export const CLAIM_RESEND: LimitPolicy = {
  name: 'claim-resend',
  quota: 1,
  windowSeconds: RULES.claimResendMs / 1000,
  closed: true,
}

/**
 * Codes that browsers of one address may have mailed for sign-ins. As many as `CLAIM_ADDRESS`, for the same reason. They are
 * counted apart, so that agents behind the same address do not keep people from signing in.
 */
export const SIGN_IN_ADDRESS: LimitPolicy = {
  name: 'sign-in-address',
  quota: 10,
  windowSeconds: ADDRESS_WINDOW_SECONDS,
  closed: true,
}

/**
 * Documents of URL clients that requests of an address may cause to be fetched. A stored document is fetched again at most
 * every two and a half minutes, so 30 a minute are enough for 75 agents behind one address.
 */
export const DOCUMENT_FETCHES: LimitPolicy = {
  name: 'document-address',
  quota: 30,
  windowSeconds: MINUTE,
}

/** Failed client authentications per network and client id. Refuses further failures only, never correct credentials. */
export const FAILED_AUTHENTICATION: LimitPolicy = {
  name: 'client-authentication',
  quota: 20,
  windowSeconds: 10 * MINUTE,
}

/** Creates the store that counts limits in Redis, for all processes together. @param prefix of every key, such as `auth:` */
export function sharedLimits(redis: Redis, prefix: string, now: () => Date): LimitStore {
  const limitRedis = {
    eval: (script: string, keys: string[], args: string[]) => runRedisScript(redis, script, keys, args),
    get: (key: string) => redis.get(key),
    setIfAbsent: (key: string, value: string, seconds: number) => redis.set(key, value, 'EX', seconds, 'NX'),
  }
  return prefetchingLimitStore(redisLimitStore(limitRedis, prefix), now)
}

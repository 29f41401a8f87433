import { RULES } from '@plainpath/domain'
import type { LimitPolicy } from '@plainpath/http'

const MINUTE = 60
const HOUR = 3600

/** How much is allowed, before AUTH_LIMITS_FACTOR multiplies it. */
export const LIMITS = {
  register: [
    { name: 'register-address', quota: 60, windowSeconds: HOUR },
    { name: 'register-burst', quota: 20, windowSeconds: MINUTE },
  ],
  /** Every request that shows client credentials, at whatever endpoint. */
  address: [{ name: 'token-address', quota: 600, windowSeconds: MINUTE }],
  client: [{ name: 'token-client', quota: 120, windowSeconds: MINUTE }],
  /** Pages of people, who may share an address; what is behind a link is bounded by itself. */
  pages: [{ name: 'pages-address', quota: 120, windowSeconds: MINUTE }],
  documents: [{ name: 'reads-address', quota: 3000, windowSeconds: MINUTE, batch: 100 }],
} as const satisfies Record<string, readonly LimitPolicy[]>

/** Claim mails that a client may cause, and those for one address; closed, since each may reach a person. */
export const CLAIM_MAIL: LimitPolicy = {
  name: 'claim-client',
  quota: RULES.claimMails,
  windowSeconds: 24 * HOUR,
  closed: true,
}
/** Claim mails that clients of one address may cause: clients are free, and the mails that may go out to all are not. */
export const CLAIM_ADDRESS: LimitPolicy = {
  name: 'claim-address',
  quota: 200,
  windowSeconds: 24 * HOUR,
  closed: true,
}
export const CLAIM_RESEND: LimitPolicy = {
  name: 'claim-resend',
  quota: 1,
  windowSeconds: RULES.claimResendMs / 1000,
  closed: true,
}

/** Failed client authentications, for each address and client id together; refuses only further failures. */
export const FAILED_AUTHENTICATION: LimitPolicy = {
  name: 'client-authentication',
  quota: 20,
  windowSeconds: 10 * MINUTE,
}

import type { LimitPolicy } from '@plainpath/http'

const MINUTE = 60
const HOUR = 3600

/** How much is allowed (contract §2), before AUTH_LIMITS_FACTOR. */
export const LIMITS = {
  register: [
    { name: 'register-address', quota: 60, windowSeconds: HOUR },
    { name: 'register-burst', quota: 20, windowSeconds: MINUTE },
  ],
  /** Every request that shows client credentials, at whatever endpoint. */
  address: [{ name: 'token-address', quota: 600, windowSeconds: MINUTE }],
  client: [{ name: 'token-client', quota: 120, windowSeconds: MINUTE }],
  documents: [{ name: 'reads-address', quota: 3000, windowSeconds: MINUTE }],
} as const satisfies Record<string, readonly LimitPolicy[]>

/** Failed client authentications, for each address and client id together; refuses only further failures. */
export const FAILED_AUTHENTICATION: LimitPolicy = {
  name: 'client-authentication',
  quota: 20,
  windowSeconds: 10 * MINUTE,
}

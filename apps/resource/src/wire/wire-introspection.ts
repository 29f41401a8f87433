import { randomUUID } from 'node:crypto'
import type { RevocationOptions } from '@plainpath/revocation'
import type { AskAuthorizationServer } from '../auth/ask-authorization-server.ts'
import { authorizationServerKeys } from '../auth/authorization-server-keys.ts'
import { cachedIntrospection } from '../auth/cached-introspection.ts'
import type { FollowedClientSecret } from '../auth/client-secret.ts'
import { guardIntrospection } from '../auth/guard-introspection.ts'
import { type IntrospectionMetrics, introspectionClient } from '../auth/introspection-client.ts'
import { type RevocationMember, revocationMember } from '../auth/revocation-member.ts'
import type { Config } from '../config.ts'

/** No answer is kept for longer, so a revocation that failed half way, and was answered 503, is over by then. */
const KEEP_MS = 30_000
const MOST_KEPT = 10_000

/** The memory for answers about tokens; `followRevocations` makes it usable. */
export const tokenMemory = ({ intervals }: RevocationOptions): RevocationMember =>
  revocationMember({
    name: randomUUID(),
    leaseMs: intervals.leaseMs,
    keepMs: KEEP_MS,
    mostKept: MOST_KEPT,
  })

/** Introspection, from memory where that is safe: with Redis, under a lease. */
export function createIntrospection(
  { clientId, limitsFactor }: Config,
  deps: {
    askServer: AskAuthorizationServer
    issuer: string
    clientSecret: FollowedClientSecret
    member: RevocationMember | undefined
    metrics: IntrospectionMetrics
    now: () => Date
    timeoutMs: number | undefined
  },
) {
  const { askServer, issuer, clientSecret, member, metrics, now, timeoutMs } = deps
  const keys = authorizationServerKeys(askServer, { timeoutMs })
  const asking = { askServer, issuer, clientId, clientSecret, keys, metrics, now, timeoutMs }
  const introspect = guardIntrospection({
    introspect: introspectionClient(asking),
    factor: limitsFactor,
    now,
  })
  /** Never from memory. */
  const introspectWithEmail = introspectionClient({ ...asking, claims: 'email' })
  const cached = member && cachedIntrospection({ introspect, member, clock: performance, metrics })
  return {
    introspect: cached?.introspect ?? introspect,
    introspectWithEmail,
    /** What is in memory about a token, and may be used under the lease. */
    known: cached?.known ?? (() => undefined),
  }
}

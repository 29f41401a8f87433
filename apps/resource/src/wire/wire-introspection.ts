import { randomUUID } from 'node:crypto'
import type { WatchedClock } from '@plainpath/http'
import type { RevocationOptions } from '@plainpath/revocation'
import type { AskAuthorizationServer } from '../auth/ask-authorization-server.ts'
import { authorizationServerKeys } from '../auth/authorization-server-keys.ts'
import { cachedIntrospection } from '../auth/cached-introspection.ts'
import type { ClientSecret } from '../auth/client-secret.ts'
import type { ActiveAnswer, Introspect } from '../auth/introspection.ts'
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

export interface Introspection {
  readonly introspect: Introspect
  /** Asks for the person's address, too; never from memory. */
  readonly introspectWithEmail: Introspect
  /** What is in memory about a token, and may be used now. */
  readonly known: (token: string) => ActiveAnswer | undefined
}

/** Introspection, from memory where that is safe: with Redis, under a lease, and by a sound clock. */
export function createIntrospection(
  { clientId }: Config,
  deps: {
    askServer: AskAuthorizationServer
    issuer: string
    clientSecret: ClientSecret
    member: RevocationMember | undefined
    clock: Pick<WatchedClock, 'isSound'>
    metrics: IntrospectionMetrics
    now: () => Date
    timeoutMs: number | undefined
  },
): Introspection {
  const { askServer, issuer, clientSecret, member, metrics, now, timeoutMs } = deps
  const keys = authorizationServerKeys(askServer, { timeoutMs })
  const asking = { askServer, issuer, clientId, clientSecret, keys, metrics, now, timeoutMs }
  const introspect = introspectionClient(asking)
  const introspectWithEmail = introspectionClient({ ...asking, claims: 'email' })
  if (!member) return { introspect, introspectWithEmail, known: () => undefined }
  const cached = cachedIntrospection({ introspect, member, clock: performance, metrics })
  return {
    introspect: cached.introspect,
    introspectWithEmail,
    known: (token) => (deps.clock.isSound() ? cached.known(token) : undefined),
  }
}

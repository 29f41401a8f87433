import { randomUUID } from 'node:crypto'
import type { Log, Metrics, WatchedClock } from '@plainpath/http'
import { REVOCATION, type RevocationOptions } from '@plainpath/revocation'
import type { AskAuthorizationServer } from '../auth/ask-authorization-server.ts'
import { authorizationServerKeys } from '../auth/authorization-server-keys.ts'
import { cachedIntrospection } from '../auth/cached-introspection.ts'
import { followRevocations } from '../auth/follow-revocations.ts'
import type { Introspect } from '../auth/introspection.ts'
import { introspectionClient } from '../auth/introspection-client.ts'
import { introspectionMetrics } from '../auth/introspection-metrics.ts'
import type { ActiveAnswer } from '../auth/kept-answers.ts'
import { revocationMember } from '../auth/revocation-member.ts'
import type { Config } from '../config.ts'
import { wireClientSecret } from './wire-client-secret.ts'

/** No answer is kept for longer, so a revocation that failed half way, and was answered 503, is over by then. */
const KEEP_MS = 30_000
const MOST_KEPT = 10_000

export interface IntrospectionDeps {
  readonly askServer: AskAuthorizationServer
  readonly issuer: string
  readonly metrics: Metrics
  readonly log: Log
  readonly now: () => Date
  /** How long the authorization server may take; a second when absent. */
  readonly introspectionTimeoutMs?: number | undefined
  /** The revocation channel and intervals that both apps share; `REVOCATION` when absent. */
  readonly revocation?: RevocationOptions | undefined
  /** By a wrong one nothing is known of tokens. */
  readonly clock: Pick<WatchedClock, 'isSound'>
}

export interface Introspection extends AsyncDisposable {
  readonly introspect: Introspect
  /** Asks for the person's address, too; never from memory. */
  readonly introspectWithEmail: Introspect
  /** What is in memory about a token, and may be used now. */
  readonly known: (token: string) => ActiveAnswer | undefined
}

/** Introspection, from memory where that is safe: with Redis, under a lease. */
export function openIntrospection(config: Config, deps: IntrospectionDeps): Introspection {
  const { metrics, log, introspectionTimeoutMs: timeoutMs } = deps
  const { name, intervals } = deps.revocation ?? REVOCATION
  const { onFailure, onAsked, onLease, onUnderWay } = introspectionMetrics(metrics)
  const { clientId, redisUrl } = config
  const opening = new AsyncDisposableStack()
  const clientSecret = opening.use(wireClientSecret(config, log))
  const keys = authorizationServerKeys(deps.askServer, { timeoutMs })
  const asking = { ...deps, clientId, clientSecret, keys, onFailure, timeoutMs }
  const introspect = introspectionClient({ ...asking, onUnderWay: onUnderWay('token') })
  const introspectWithEmail = introspectionClient({
    ...{ ...asking, claims: 'email' },
    onUnderWay: onUnderWay('email'),
  })
  const dispose = () => opening.disposeAsync()
  if (!redisUrl)
    return {
      introspect,
      introspectWithEmail,
      known: () => undefined,
      [Symbol.asyncDispose]: dispose,
    }
  const clock = performance
  const member = revocationMember({
    name: randomUUID(),
    leaseMs: intervals.leaseMs,
    keepMs: KEEP_MS,
    mostKept: MOST_KEPT,
  })
  opening.use(followRevocations(redisUrl, { member, name, intervals, clock, log, onLease }))
  const cached = cachedIntrospection({ introspect, member, clock, onAsked })
  return {
    introspect: cached.introspect,
    known: (token) => (deps.clock.isSound() ? cached.known(token) : undefined),
    introspectWithEmail,
    [Symbol.asyncDispose]: dispose,
  }
}

/*
 * Proves that an emergency revocation has taken effect at every instance: each instance must find a canary token before the
 * revocation, and must not find it afterwards. `planCanary` explains the exception.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentId } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import type { Follower } from '../keys/key-follower-store.ts'
import type { RingView } from '../keys/key-store.ts'
import type { RevocationScope } from '../tokens/emergency-revocation-store.ts'
import { CANARY_AUDIENCE, type TokenCutoff, type TokenStore } from '../tokens/token-store.ts'
import { type CanaryState, readCanaryState, requestCanaryReports } from './canary.ts'

/** The result for one instance after a revocation. */
export interface InstanceProof {
  readonly host: string
  readonly release: string | undefined
  /**
   * - `proven`: the instance found the canary before the revocation, and now reports the expected state.
   * - `ended`: its lease has expired, so it no longer serves any API.
   * - `old`: its release does not support canaries.
   * - `silent`: the instance did not report on the canary.
   * - `other-store`: the instance does not find what the command `stop` stores.
   * - `still-active`: the instance does not report the expected state. Usually, it still accepts the canary.
   */
  readonly state: 'proven' | 'ended' | 'old' | 'silent' | 'other-store' | 'still-active'
}

/** The states of the canary that an instance reported before and after the revocation. */
interface CanaryReports {
  readonly before: CanaryState | undefined
  readonly after: CanaryState | undefined
}

/**
 * Assesses what one instance reported.
 *
 * @param options.expected the state that the instance must report after the revocation
 * @param options.isLive false once its lease has expired
 */
export function assessInstance(
  { release }: Pick<Follower, 'release'>,
  { before: stateBefore, after: stateAfter }: CanaryReports,
  { expected, isLive }: { readonly expected: CanaryState; readonly isLive: boolean },
): InstanceProof['state'] {
  if (!isLive) return 'ended'
  if (release === undefined) return 'old'
  if (stateBefore === undefined || stateAfter === undefined) return 'silent'
  if (stateBefore === 'inactive') return 'other-store'
  return stateAfter === expected ? 'proven' : 'still-active'
}

/**
 * Returns whether every instance is known to reject the tokens. If there are instances, at least one must be proven. If all
 * leases have expired, the service may be using another database.
 */
export const isProven = (instances: readonly InstanceProof[]): boolean =>
  instances.every(({ state }) => state === 'proven' || state === 'ended') &&
  (instances.length === 0 || instances.some(({ state }) => state === 'proven'))

const POLL_MS = 50
/** The interval at which the request is repeated for instances that have not reported. */
const REPEAT_INTERVAL_MS = 500
/** How long instances that do not report can delay a revocation. */
const MAX_WAIT_BEFORE_MS = 5_000
/** Added to the lease, to allow for a busy machine. */
const EXTRA_WAIT_MS = 5_000
/**
 * How long the canary is valid, in addition to a lease. An instance that finds it expired reports the same as one that rejects it,
 * so it has to outlive both waits and the revocation between them.
 */
const CANARY_EXTRA_LIFETIME_MS = 10 * 60_000

interface CanaryDeps {
  readonly db: Database
  readonly tokens: Pick<TokenStore, 'save' | 'revoke' | 'readCutoff'>
  readonly keys: { view(): Promise<RingView> }
  readonly leaseMs: number
}

/** A canary in the token store. */
export interface Canary extends AsyncDisposable {
  /**
   * Assesses the reports of all instances. Waits for each live instance that supports canaries, for at most a lease and 5 s. Call
   * this after the revocation.
   */
  prove(): Promise<readonly InstanceProof[]>
}

/**
 * Stores a canary for the revocation (`planCanary`), and collects a first report on it from every instance. Nobody has the token:
 * only a random hash is stored. Disposing removes it, or leaves it to expire if the store fails.
 *
 * @returns undefined if the scope has no active agent, which means that the revocation revokes no valid token
 */
export async function storeCanaryToken(
  deps: CanaryDeps,
  scope: RevocationScope,
): Promise<Canary | undefined> {
  const { db, tokens, keys, leaseMs } = deps
  const agent = await findAffectedAgent(db, scope)
  if (!agent) return undefined
  const hash = randomBytes(32)
  const { now } = await keys.view()
  const { issuedAt, expected } = planCanary(scope, await tokens.readCutoff(), now)
  const expiresAt = new Date(now.getTime() + leaseMs + CANARY_EXTRA_LIFETIME_MS)
  await tokens.save(hash, {
    clientId: agent.id,
    credentialVersion: agent.credentialVersion,
    scope: '',
    audience: CANARY_AUDIENCE,
    issuedAt,
    expiresAt,
  })

  /** Repeats a request until every live instance that supports canaries has reported, for at most `timeoutMs`. */
  async function collectReports(requestId: string, timeoutMs: number) {
    const states = new Map<string, CanaryState>()
    const deadline = performance.now() + timeoutMs
    let requestedAt = Number.NEGATIVE_INFINITY
    for (;;) {
      if (performance.now() - requestedAt >= REPEAT_INTERVAL_MS) {
        requestedAt = performance.now()
        await requestCanaryReports(db, requestId, hash)
      }
      const view = await keys.view()
      for (const { instanceId, canary } of view.followers) {
        const canaryState = readCanaryState(canary, requestId)
        if (canaryState) states.set(instanceId, canaryState)
      }
      const isLive = ({ seenAt }: Follower) => seenAt.getTime() + leaseMs > view.now.getTime()
      const isReportMissing = (follower: Follower) =>
        isLive(follower) && follower.release !== undefined && !states.has(follower.instanceId)
      if (!view.followers.some(isReportMissing) || performance.now() > deadline)
        return { states, followers: view.followers, isLive, now: view.now }
      await sleep(POLL_MS)
    }
  }

  const reportsBefore = await collectReports(randomUUID(), MAX_WAIT_BEFORE_MS)
  return {
    async prove() {
      const reportsAfter = await collectReports(randomUUID(), leaseMs + EXTRA_WAIT_MS)
      return reportsAfter.followers.map((follower) => {
        const { instanceId, host, release } = follower
        const reports = {
          before: reportsBefore.states.get(instanceId),
          // After the canary has expired, a report proves nothing.
          after: reportsAfter.now < expiresAt ? reportsAfter.states.get(instanceId) : undefined,
        }
        return {
          host,
          release,
          state: assessInstance(follower, reports, { expected, isLive: reportsAfter.isLive(follower) }),
        }
      })
    },
    // A failure here must not replace the result of the revocation.
    [Symbol.asyncDispose]: () => tokens.revoke(hash).catch(() => undefined),
  }
}

/**
 * Chooses the canary's time of issue, so that the canary is valid before the revocation and revoked by it. If an earlier
 * revocation already covers the same tokens, no canary can be both. The canary is then issued now, stays valid, and
 * proves only that the instances use this store.
 */
function planCanary(
  scope: RevocationScope,
  { issuedBefore }: TokenCutoff,
  now: Date,
): { readonly issuedAt: Date; readonly expected: CanaryState } {
  // Times of issue are whole seconds.
  const currentSecond = new Date(Math.floor(now.getTime() / 1_000) * 1_000)
  if (scope.kind !== 'issued-before') return { issuedAt: currentSecond, expected: 'inactive' }
  const issuedAt = new Date(scope.at.getTime() - 1_000)
  return issuedBefore !== undefined && issuedAt < issuedBefore
    ? { issuedAt: currentSecond, expected: 'active' }
    : { issuedAt, expected: 'inactive' }
}

const CanaryAgent = z.object({
  id: z.custom<AgentId>((id) => typeof id === 'string'),
  credentialVersion: z.int(),
})

/** Finds an active agent whose tokens the revocation revokes. */
async function findAffectedAgent(db: Database, scope: RevocationScope) {
  const { rows } = await db.query(
    `select id, generation as "credentialVersion" from agents where status = 'active' and ($1::text is null or id = $1) limit 1`,
    [scope.kind === 'client' ? scope.clientId : null],
  )
  return rows[0] && CanaryAgent.parse(rows[0])
}

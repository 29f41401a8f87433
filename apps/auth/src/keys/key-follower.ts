import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type Log, type Metrics, Problem, runRepeatedly } from '@plainpath/http'
import {
  type FollowerEffect,
  type FollowerEvent,
  type FollowerStatus,
  followKeyRing,
  INITIAL_STATE,
  isCurrent,
  type ReadRing,
  statusOf,
} from './follow-key-ring.ts'
import { signProof } from './jws-signer.ts'
import type { KeyFollowers } from './key-followers.ts'
import type { KeyStore } from './key-store.ts'
import { type InstanceKeys, instanceKeys } from './signing-key.ts'

export interface KeyFollower extends AsyncDisposable {
  readonly keys: InstanceKeys
  readonly status: FollowerStatus
  /** Follows the ring until disposed, from now on. */
  start(onChange: (keys: InstanceKeys) => void): void
  /** Somebody says that the ring has changed. */
  hear(): void
  /** Whether every key can be read and this instance knows that it is up to date. */
  isSound(): boolean
  /** False when this instance may have missed a change for longer than the lease. */
  isCurrent(): boolean
  /** @throws {Problem} `unavailable` when this instance may have missed a change for longer than the lease. */
  requireCurrent(): void
}

interface KeyFollowerDeps {
  readonly keys: Pick<KeyStore, 'read' | 'auditEnd'>
  readonly followers: KeyFollowers
  readonly pollMs: number
  /** How long what was read may be relied on. */
  readonly leaseMs: number
  readonly log: Log
  /** Told after each reading. */
  readonly onStatus?: (status: FollowerStatus) => void
}

/**
 * Keeps the keys of this instance as the ring has them; `followKeyRing` decides, and this carries it out. An instance
 * reports itself, then reads: so whoever changes the ring either finds it among those to wait for, or it reads the
 * change. What was read is good for the lease, counted from before the report; after a lease without a reading, an
 * instance signs no more.
 *
 * @throws what reading throws, at the start: an instance without keys does not start, and makes none
 */
export async function openKeyFollower(deps: KeyFollowerDeps): Promise<KeyFollower> {
  const { followers, log } = deps
  const instanceId = randomUUID()
  const host = `${hostname()}:${process.pid}`
  let state = INITIAL_STATE
  let onChange: (keys: InstanceKeys) => void = () => undefined

  async function handle(event: FollowerEvent): Promise<void> {
    const next = followKeyRing(state, event, deps.leaseMs)
    state = next.state
    for (const effect of next.effects) await perform(effect)
  }

  async function perform(effect: FollowerEffect): Promise<void> {
    switch (effect.do) {
      case 'report':
        return followers.report({ instanceId, host, ...effect.report })
      case 'read':
        return handle({ type: 'ring-read', ring: await readRing(deps.keys) })
      case 'adopt': {
        const { ring } = effect
        const proof = signProof(ring.keys.signing, { instanceId, ringVersion: ring.version })
        onChange(ring.keys)
        return handle({ type: 'ring-adopted', ring, proof })
      }
      case 'read-audit':
        return handle(await readAudit(deps.keys, effect.ringVersion))
      case 'poll-again':
        return poll()
      case 'log':
        return log[effect.level](effect.message, effect.fields)
    }
  }

  const poll = () => handle({ type: 'poll', now: performance.now() })

  const following = runRepeatedly(async () => {
    await poll().catch((error: unknown) => handle({ type: 'reading-failed', error }))
    deps.onStatus?.(statusOf(state))
  })

  const forget = () =>
    followers
      .forget(instanceId)
      .catch((error: unknown) => log.warn('this instance could not be taken off the list', { error }))
  try {
    await poll()
  } catch (error) {
    await forget()
    throw error
  }
  deps.onStatus?.(statusOf(state))
  return {
    get keys() {
      if (!state.ring) throw new Error('no keys were read')
      return state.ring.keys
    },
    get status() {
      return statusOf(state)
    },
    start(listener) {
      onChange = listener
      following.start(deps.pollMs)
    },
    hear: following.runSoon,
    isSound: () => state.problem === undefined && isCurrent(state, performance.now()),
    isCurrent: () => isCurrent(state, performance.now()),
    requireCurrent() {
      if (!isCurrent(state, performance.now())) throw new Problem('unavailable')
    },
    async [Symbol.asyncDispose]() {
      await following[Symbol.asyncDispose]()
      await forget()
    },
  }
}

async function readRing(store: KeyFollowerDeps['keys']): Promise<ReadRing> {
  const { version, keys: found } = await store.read()
  const keys = instanceKeys(found)
  return { version, keys, since: found.find(({ kid }) => kid === keys.signing.kid)?.stateSince }
}

async function readAudit(store: KeyFollowerDeps['keys'], ringVersion: number): Promise<FollowerEvent> {
  try {
    return { type: 'audit-read', ringVersion, end: await store.auditEnd() }
  } catch (error) {
    return { type: 'audit-failed', error }
  }
}

/** Shows what this instance signs with, and whether it can read every key. */
export function keyMetrics(metrics: Pick<Metrics, 'gauge'>): (status: FollowerStatus) => void {
  const version = metrics.gauge('key_ring_version', 'Version of the key ring that this instance follows')
  const signing = metrics.gauge('signing_key', 'The key that this instance signs with', ['kid'])
  const since = metrics.gauge('signing_key_since_seconds', 'When that key began to sign, in Unix time')
  const readable = metrics.gauge('key_ring_readable', '1 when this instance can read every key')
  const auditNumber = metrics.gauge(
    'key_audit_number',
    'Number of the last row of the key audit, and its hash',
    ['head'],
  )
  const auditReadable = metrics.gauge(
    'key_audit_readable',
    '1 when the end of the key audit could be read after the last change',
  )
  return ({ ring_version, signing_kid, signing_since, problem, audit, audit_unread: unread }) => {
    version(ring_version)
    signing(1, { kid: signing_kid })
    if (signing_since !== undefined) since(Date.parse(signing_since) / 1000)
    readable(problem === undefined ? 1 : 0)
    auditReadable(unread ? 0 : 1)
    if (audit) auditNumber(audit.number, { head: audit.head })
  }
}

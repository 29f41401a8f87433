/*
 * Keeps the signing keys of this instance current: performs what the state machine in `follow-key-ring.ts` decides, and
 * polls. It changes no key; the `keys` commands do (`key-operations.ts`).
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type Log, type Metrics, Problem, runRepeatedly } from '@plainpath/http'
import {
  describeStatus,
  type FollowerEffect,
  type FollowerEvent,
  type FollowerStatus,
  followKeyRing,
  INITIAL_STATE,
  isCurrent,
  type ReadRing,
} from './follow-key-ring.ts'
import { signProof } from './jws-signer.ts'
import type { KeyFollowers } from './key-followers.ts'
import type { KeyStore } from './key-store.ts'
import { type InstanceKeys, instanceKeys } from './signing-key.ts'

export interface KeyFollower extends AsyncDisposable {
  readonly keys: InstanceKeys
  readonly status: FollowerStatus
  /** Starts polling, until disposed. `onChange` is called with each new set of keys. */
  start(onChange: (keys: InstanceKeys) => void): void
  /** Polls the ring now instead of at the next interval, for example after a NOTIFY. */
  pollSoon(): void
  /** True when every key can be read and the lease has not expired. */
  isReady(): boolean
  /** True while the lease lasts: this instance cannot have missed a change for longer than that. */
  isCurrent(): boolean
  /** @throws {Problem} `unavailable` when the lease has expired */
  requireCurrent(): void
}

interface KeyFollowerDeps {
  readonly keys: Pick<KeyStore, 'read' | 'auditEnd'>
  readonly followers: KeyFollowers
  readonly pollMs: number
  /** How long the keys may be used after a reading. */
  readonly leaseMs: number
  readonly log: Log
  /** Called after each reading. */
  readonly onStatus?: (status: FollowerStatus) => void
}

/**
 * Reads the key ring and keeps it current. An instance reports itself before it reads, so a command that changes the
 * ring either finds it among the instances to wait for, or the instance reads the change. The lease starts before the
 * report; when it expires without another reading, the instance stops signing.
 *
 * @throws when the first reading fails: an instance without keys does not start, and creates none
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
    deps.onStatus?.(describeStatus(state))
  })

  const forget = () =>
    followers
      .forget(instanceId)
      .catch((error: unknown) => log.warn('this instance could not be removed from the list', { error }))
  try {
    await poll()
  } catch (error) {
    await forget()
    throw error
  }
  deps.onStatus?.(describeStatus(state))
  return {
    get keys() {
      if (!state.ring) throw new Error('no keys were read')
      return state.ring.keys
    },
    get status() {
      return describeStatus(state)
    },
    start(listener) {
      onChange = listener
      following.start(deps.pollMs)
    },
    pollSoon: following.runSoon,
    isReady: () => state.problem === undefined && isCurrent(state, performance.now()),
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

/** Registers the metrics of the signing keys. @returns the function that updates them */
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

/*
 * Keeps the signing keys of this instance current: polls, and performs the effects of the state machine in
 * `key-follower-state.ts`. It changes no key. The `keys` commands change keys (`key-operations.ts`).
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { createRepeatedWork, type Log, type Metrics, Problem } from '@plainpath/http'
import { signProof } from './jws-signer.ts'
import {
  advanceKeyFollower,
  hasLease,
  INITIAL_STATE,
  type KeyFollowerEffect,
  type KeyFollowerEvent,
  type KeyFollowerStatus,
  type LoadedRing,
  toStatus,
} from './key-follower-state.ts'
import type { InstanceDescription, KeyFollowerStore } from './key-follower-store.ts'
import type { KeyStore } from './key-store.ts'
import { type InstanceKeys, selectInstanceKeys } from './signing-key.ts'

export interface KeyFollower extends AsyncDisposable {
  /** A random id of this process. */
  readonly instanceId: string
  readonly keys: InstanceKeys
  readonly status: KeyFollowerStatus
  /** Polls until the follower is disposed. */
  start(): void
  /** Polls the ring now instead of at the next interval, for example after a NOTIFY. */
  pollSoon(): void
  /** Returns whether the lease is valid, and `status` has no problem. */
  isReady(): boolean
  /**
   * Returns whether the lease is valid. While it is, commands that change the ring wait until this instance has adopted the
   * change.
   */
  hasLease(): boolean
  /**
   * Requires a valid lease.
   *
   * @throws {Problem} `unavailable` when the lease has expired
   */
  requireLease(): void
}

interface KeyFollowerDeps {
  readonly keys: Pick<KeyStore, 'read' | 'readLastAuditRow'>
  readonly followers: Pick<KeyFollowerStore, 'report' | 'remove'>
  /** Describes this instance for each report. Must not throw. */
  readonly describe: () => Promise<InstanceDescription>
  readonly pollMs: number
  /** How long the keys may be used after the start of the poll that read them. */
  readonly leaseMs: number
  readonly log: Log
  /** Called after each poll. */
  readonly onStatus?: (status: KeyFollowerStatus) => void
}

/**
 * Reads the key ring, and keeps it current from `start` on. An instance reports before it reads, so either a command that changes
 * the ring waits for the instance, or the instance reads the change. The lease starts before the report. If it expires before the
 * next successful read, the instance stops signing.
 *
 * @throws if the first poll fails; an instance without keys does not start
 */
export async function openKeyFollower(deps: KeyFollowerDeps): Promise<KeyFollower> {
  const { followers, log } = deps
  const instanceId = randomUUID()
  const host = `${hostname()}:${process.pid}`
  let state = INITIAL_STATE

  async function handle(event: KeyFollowerEvent): Promise<void> {
    const step = advanceKeyFollower(state, event, deps.leaseMs)
    state = step.state
    for (const effect of step.effects) await perform(effect)
  }

  async function perform(effect: KeyFollowerEffect): Promise<void> {
    switch (effect.kind) {
      case 'report':
        return followers.report({ instanceId, host, ...effect.report, ...(await deps.describe()) })
      case 'read-ring':
        return handle({ kind: 'ring-read', ring: await readRing(deps.keys) })
      case 'adopt-ring': {
        const { ring } = effect
        const proof = signProof(ring.keys.signingKey, { instanceId, ringVersion: ring.version })
        return handle({ kind: 'ring-adopted', ring, proof })
      }
      case 'read-audit':
        return handle(await readAudit(deps.keys, effect.ringVersion))
      case 'poll-again':
        return poll()
      case 'log':
        return log[effect.level](effect.message, effect.fields)
    }
  }

  const poll = () => handle({ kind: 'poll-started', now: performance.now() })

  const polling = createRepeatedWork(async () => {
    await poll().catch((error: unknown) => handle({ kind: 'poll-failed', error }))
    deps.onStatus?.(toStatus(state))
  })

  const removeInstance = () =>
    followers
      .remove(instanceId)
      .catch((error: unknown) =>
        log.warn('this instance could not be removed from the list of instances', { error }),
      )
  try {
    await poll()
  } catch (error) {
    await removeInstance()
    throw error
  }
  deps.onStatus?.(toStatus(state))
  return {
    instanceId,
    get keys() {
      // Never happens: `openKeyFollower` throws unless its first poll has adopted a ring.
      if (!state.ring) throw new Error('no keys were read')
      return state.ring.keys
    },
    get status() {
      return toStatus(state)
    },
    start() {
      polling.start(deps.pollMs)
    },
    pollSoon: polling.requestRun,
    isReady: () => state.problem === undefined && hasLease(state, performance.now()),
    hasLease: () => hasLease(state, performance.now()),
    requireLease() {
      if (!hasLease(state, performance.now())) throw new Problem('unavailable')
    },
    async [Symbol.asyncDispose]() {
      await polling[Symbol.asyncDispose]()
      await removeInstance()
    },
  }
}

async function readRing(store: KeyFollowerDeps['keys']): Promise<LoadedRing> {
  const { version, keys: storedKeys } = await store.read()
  const keys = selectInstanceKeys(storedKeys)
  return {
    version,
    keys,
    signingSince: storedKeys.find(({ kid }) => kid === keys.signingKey.kid)?.stateSince,
  }
}

async function readAudit(store: KeyFollowerDeps['keys'], ringVersion: number): Promise<KeyFollowerEvent> {
  try {
    return { kind: 'audit-read', ringVersion, lastRow: await store.readLastAuditRow() }
  } catch (error) {
    return { kind: 'audit-read-failed', error }
  }
}

/**
 * Registers the metrics of the signing keys.
 *
 * @returns the function that updates them
 */
export function createKeyMetrics(metrics: Pick<Metrics, 'createGauge'>): (status: KeyFollowerStatus) => void {
  const setVersion = metrics.createGauge(
    'key_ring_version',
    'Version of the key ring that this instance follows',
  )
  const setSigningKey = metrics.createGauge('signing_key', 'The key that this instance signs with', ['kid'])
  const setSigningSince = metrics.createGauge(
    'signing_key_since_seconds',
    'When that key began to sign, in Unix time',
  )
  const setReadable = metrics.createGauge('key_ring_readable', '1 when this instance can read every key')
  const setAuditNumber = metrics.createGauge(
    'key_audit_number',
    'Number of the last row of the key audit, and its hash',
    ['head'],
  )
  const setAuditReadable = metrics.createGauge(
    'key_audit_readable',
    '1 when the end of the key audit could be read after the last change',
  )
  return ({ ring_version, signing_kid, signing_since, problem, audit, audit_unread: isAuditUnread }) => {
    setVersion(ring_version)
    setSigningKey(1, { kid: signing_kid })
    if (signing_since !== undefined) setSigningSince(Date.parse(signing_since) / 1000)
    setReadable(problem === undefined ? 1 : 0)
    setAuditReadable(isAuditUnread ? 0 : 1)
    if (audit) setAuditNumber(audit.number, { head: audit.head })
  }
}

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { type Log, Problem } from '@plainpath/http'
import { isUnavailable } from '@plainpath/postgres'
import { headOf } from '../audit-chain.ts'
import { type InstanceKeys, instanceKeys } from './instance-keys.ts'
import { signProof } from './key-proof.ts'
import { type KeyFollowers, type KeyStore, UnreadableKey } from './key-store.ts'

/** What this instance signs with, for people and for metrics. */
export interface FollowerStatus {
  readonly ring_version: number
  readonly signing_kid: string
  /** RFC 3339, by the database's clock. */
  readonly signing_since?: string
  readonly problem?: string
  /** Where the audit of the keys ended when this instance followed its last change. */
  readonly audit?: { readonly head: string; readonly number: number }
  /** That the end of the audit could not be read after the last change. */
  readonly audit_unread?: true
}

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

export interface KeyFollowerDeps {
  readonly keys: Pick<KeyStore, 'read' | 'auditEnd'>
  readonly followers: KeyFollowers
  readonly pollMs: number
  /** How long what was read may be relied on. */
  readonly leaseMs: number
  readonly log: Log
  /** Told after each reading. */
  readonly onStatus?: (status: FollowerStatus) => void
  /** Milliseconds that only rise. */
  readonly clock?: { now(): number }
}

interface Followed {
  readonly version: number
  readonly keys: InstanceKeys
  readonly since: Date | undefined
  readonly proof: string
}

/**
 * Keeps the keys of this instance as the ring has them. It says that it lives, then reads: so whoever changes the ring
 * either finds it among those to wait for, or it reads the change. What was read is good for the lease, counted from
 * before it said so; an instance that was not heard of for a lease signs no more.
 *
 * @throws what reading throws, at the start: an instance without keys does not start, and makes none
 */
export async function openKeyFollower(deps: KeyFollowerDeps): Promise<KeyFollower> {
  const { followers, log, clock = performance } = deps
  const instanceId = randomUUID()
  const host = `${hostname()}:${process.pid}`
  let problem: string | undefined
  let goodUntil = 0
  let followed: Followed | undefined
  let audit: FollowerStatus['audit']
  let auditedVersion: number | undefined

  const isCurrent = () => clock.now() < goodUntil

  /** An instance that may not sign says so, since nobody need wait for it. */
  function report(): Promise<void> {
    const signs = isCurrent() ? followed : undefined
    return followers.report({
      instanceId,
      host,
      ringVersion: signs?.version ?? 0,
      signingKid: signs?.keys.signing.kid,
      proof: signs?.proof,
      problem,
    })
  }

  async function readOnce(onChange: (keys: InstanceKeys) => void): Promise<void> {
    const startedAt = clock.now()
    await report()
    const { version, keys: found } = await deps.keys.read()
    const keys = instanceKeys(found)
    const known = followed
    if (known?.version !== version || !isDeepStrictEqual(known.keys, keys)) {
      const proof = await signProof(keys.signing, { instanceId, ringVersion: version })
      onChange(keys)
      const since = found.find(({ kid }) => kid === keys.signing.kid)?.stateSince
      followed = { version, keys, proof, since }
    }
    goodUntil = startedAt + deps.leaseMs
    const recovered = problem !== undefined
    problem = undefined
    await tellAudit(version)
    if (followed === known && !recovered) return
    log.info('follows the key ring', { ring_version: version, signing_kid: keys.signing.kid })
    await report()
  }

  /** Once for each change, so that the head is also where the owner of the database cannot write. */
  async function tellAudit(version: number): Promise<void> {
    if (auditedVersion === version) return
    try {
      const end = await deps.keys.auditEnd()
      if (end) {
        audit = { head: headOf(end), number: end.number }
        log.info('key audit head', audit)
      }
      auditedVersion = version
    } catch (error) {
      log.warn('the end of the key audit could not be read', { error })
    }
  }

  function fail(error: unknown, startedAt: number): void {
    if (isUnavailable(error)) return log.warn('the key ring could not be read', { error })
    const before = problem
    problem = error instanceof UnreadableKey ? error.message : 'the key ring cannot be used'
    // What this instance has is still what the ring says; it is another row, or this instance's own file, that is bad.
    if (error instanceof UnreadableKey && error.ringVersion === followed?.version)
      goodUntil = startedAt + deps.leaseMs
    if (problem !== before) log.error('signing keys cannot be read: this instance is not ready', { error })
  }

  const status = (): FollowerStatus => ({
    ring_version: followed?.version ?? 0,
    signing_kid: followed?.keys.signing.kid ?? '',
    ...(followed?.since && { signing_since: followed.since.toISOString() }),
    ...(problem !== undefined && { problem }),
    ...(audit && { audit }),
    ...(followed && auditedVersion !== followed.version && { audit_unread: true as const }),
  })

  let onChange: (keys: InstanceKeys) => void = () => undefined
  let stopped = false
  let again = false
  let running: Promise<void> | undefined
  async function followOnce(): Promise<void> {
    const startedAt = clock.now()
    await readOnce(onChange).catch((error: unknown) => fail(error, startedAt))
    deps.onStatus?.(status())
  }
  function follow(): void {
    again = true
    running ??= (async () => {
      while (again && !stopped) {
        again = false
        await followOnce()
      }
    })().finally(() => {
      running = undefined
    })
  }

  const forget = () =>
    followers
      .forget(instanceId)
      .catch((error: unknown) => log.warn('this instance could not be taken off the list', { error }))
  try {
    await readOnce(onChange)
  } catch (error) {
    await forget()
    throw error
  }
  deps.onStatus?.(status())
  let timer: NodeJS.Timeout | undefined
  return {
    get keys() {
      if (!followed) throw new Error('no keys were read')
      return followed.keys
    },
    get status() {
      return status()
    },
    start(listener) {
      onChange = listener
      timer = setInterval(follow, deps.pollMs)
    },
    hear: follow,
    isSound: () => problem === undefined && isCurrent(),
    isCurrent,
    requireCurrent() {
      if (!isCurrent()) throw new Problem('unavailable')
    },
    async [Symbol.asyncDispose]() {
      stopped = true
      clearInterval(timer)
      await running
      await forget()
    },
  }
}

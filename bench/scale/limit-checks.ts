import {
  createMemoryLimitStore,
  createPrefetchingLimitStore,
  type LimitPolicy,
  type SharedLimitStore,
} from '@plainpath/http'
import { LIMITS } from '@plainpath/resource/limits'

/** How the limits of public reads treat one caller. */
export interface LimitChecks {
  readonly readsPerMinute: number
  readonly instances: number
  /** Calls of Redis for one read. */
  readonly callsPerRead: number
  /** The share of reads that wait for Redis. The others use rate-limit tokens that were prefetched. */
  readonly waitingShare: number
  /** The share of reads that are refused, although the caller does not exceed its quota. */
  readonly refusedShare: number
}

const POLICIES: readonly LimitPolicy[] = [...LIMITS.reads.address, ...LIMITS.reads.anonymous]
const MINUTES = 30
const MINUTE_MS = 60_000

/**
 * Computes how the limits treat the public reads of a caller, with the apps' own code and a clock that is set. The caller reads at
 * regular intervals, and the gateway spreads the reads evenly over the API instances.
 */
export async function computeLimitChecks(readsPerMinute: number, instances: number): Promise<LimitChecks> {
  let nowMs = 0
  const now = () => new Date(nowMs)
  const window = createMemoryLimitStore(now)
  let calls = 0
  const sharedStore: SharedLimitStore = {
    async takeUpTo(key, policy, maxCount) {
      calls += 1
      let taken = 0
      let count = await window.take(key, policy)
      while (count.allowed) {
        taken += 1
        if (taken === maxCount) break
        count = await window.take(key, policy)
      }
      return { ...count, allowed: taken > 0, taken }
    },
    take: (key, policy) => window.take(key, policy),
    dailyKey: (day) => window.dailyKey(day),
    cachedDailyKey: () => undefined,
  }
  const stores = Array.from({ length: instances }, () => createPrefetchingLimitStore(sharedStore, now))
  const readCount = readsPerMinute * MINUTES
  let waiting = 0
  let refused = 0
  for (let read = 0; read < readCount; read += 1) {
    nowMs = (read * MINUTE_MS) / readsPerMinute
    const store = stores[read % instances]
    if (!store) throw new Error('there is no instance')
    const offers = POLICIES.map((policy) => store.local?.offer(policy.name, policy))
    if (offers.every((countOne) => countOne !== undefined)) for (const countOne of offers) countOne()
    else {
      waiting += 1
      const counts = []
      for (const policy of POLICIES) counts.push(await store.take(policy.name, policy))
      if (counts.some(({ allowed }) => !allowed)) refused += 1
    }
    // Lets a prefetch end before the next read.
    await new Promise(setImmediate)
  }
  return {
    readsPerMinute,
    instances,
    callsPerRead: calls / readCount,
    waitingShare: waiting / readCount,
    refusedShare: refused / readCount,
  }
}

const READ_RATES = [6, 30, 60, 90, 120]
const INSTANCE_COUNTS = [1, 2, 4, 8, 16, 32]

/** Computes the checks for callers with few and many reads, up to the quota, at up to 32 instances. */
export async function computeAllLimitChecks(): Promise<LimitChecks[]> {
  const checks: LimitChecks[] = []
  for (const instances of INSTANCE_COUNTS)
    for (const readsPerMinute of READ_RATES) checks.push(await computeLimitChecks(readsPerMinute, instances))
  return checks
}

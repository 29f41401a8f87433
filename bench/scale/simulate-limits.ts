import { createPrefetchingLimitStore, type LimitPolicy } from '@plainpath/http'
import { createSharedLimitStore } from '@plainpath/http/testing/create-shared-limit-store'
import { LIMITS } from '@plainpath/resource/limits'

/** How the limits of public reads treat one simulated caller. */
export interface LimitSimulation {
  readonly readsPerMinute: number
  /** The number of API instances. */
  readonly apis: number
  /** Calls of Redis for one read. */
  readonly callsPerRead: number
  /** The share of reads that wait for Redis. The others use rate-limit tokens that were prefetched. */
  readonly waitingShare: number
  /** The share of reads that are refused, although the caller does not exceed its quota. */
  readonly refusedShare: number
}

const POLICIES: readonly LimitPolicy[] = [...LIMITS.reads.address, ...LIMITS.reads.anonymous]
const SIMULATED_MINUTES = 30
const MINUTE_MS = 60_000

/**
 * Simulates how the limits treat the public reads of a caller, with the apps' own code and a simulated clock. The caller reads at
 * regular intervals, and the gateway spreads the reads evenly over the API instances.
 */
export async function simulateLimits(readsPerMinute: number, apis: number): Promise<LimitSimulation> {
  let nowMs = 0
  const now = () => new Date(nowMs)
  let callCount = 0
  const sharedStore = createSharedLimitStore(now, () => {
    callCount += 1
  })
  const stores = Array.from({ length: apis }, () => createPrefetchingLimitStore(sharedStore, now))
  const readCount = readsPerMinute * SIMULATED_MINUTES
  let waitingCount = 0
  let refusedCount = 0
  for (let read = 0; read < readCount; read += 1) {
    nowMs = (read * MINUTE_MS) / readsPerMinute
    const store = stores[read % apis]
    if (!store) throw new Error('there is no API')
    // A key belongs to one policy, so the name of the policy is the key of the only caller.
    const countFunctions = POLICIES.map((policy) => store.local?.offer(policy.name, policy))
    // As in the apps, a read waits for Redis unless the prefetched rate-limit tokens suffice for every policy.
    if (countFunctions.every((countRead) => countRead !== undefined)) {
      for (const countRead of countFunctions) countRead()
    } else {
      waitingCount += 1
      const counts = []
      for (const policy of POLICIES) counts.push(await store.take(policy.name, policy))
      if (counts.some(({ allowed }) => !allowed)) refusedCount += 1
    }
    // Lets a prefetch end before the next read.
    await new Promise(setImmediate)
  }
  return {
    readsPerMinute,
    apis,
    callsPerRead: callCount / readCount,
    waitingShare: waitingCount / readCount,
    refusedShare: refusedCount / readCount,
  }
}

const READ_RATES = [6, 30, 60, 90, 120]
const API_COUNTS = [1, 2, 4, 8, 16, 32]

/** Simulates callers with few reads a minute up to as many as their quota allows, at up to 32 APIs. */
export async function simulateAllLimits(): Promise<LimitSimulation[]> {
  const simulations: LimitSimulation[] = []
  for (const apis of API_COUNTS)
    for (const readsPerMinute of READ_RATES) simulations.push(await simulateLimits(readsPerMinute, apis))
  return simulations
}

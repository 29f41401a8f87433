import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Fault } from './fault.ts'
import { createConnectionFault, type FaultCase } from './fault-case.ts'
import type { FaultNumber } from './fault-numbers.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { recordTokenLoss, startTokenLoss } from './ledger.ts'
import type { OperationName } from './operations.ts'

const CONNECTION_FAULTS: readonly {
  readonly description: string
  readonly number: FaultNumber
  readonly fault: Fault
}[] = [
  { description: 'refused', number: 'F-13', fault: { kind: 'refuse' } },
  { description: 'half-open', number: 'F-23', fault: { kind: 'half-open' } },
  // Requests and replies are each delayed by 0.15 s. Together, that exceeds auth's time-out for a reply (0.2 s), but not its
  // time-out for a silent connection (1 s). So replies arrive late on an open connection.
  { description: '0.3 s slow', number: 'F-14', fault: { kind: 'latency', ms: 150, jitterMs: 20 } },
  { description: '1 s slow', number: 'F-14', fault: { kind: 'latency', ms: 500, jitterMs: 100 } },
  { description: 'replies lost', number: 'F-14', fault: { kind: 'drop-replies' } },
  { description: 'cut in the middle of replies', number: 'F-13', fault: { kind: 'cut-after', bytes: 40 } },
]
/** Operations that must be refused while Redis is unavailable. */
const OPERATIONS_WITH_REDIS: readonly OperationName[] = ['token', 'read with a token', 'revoke']
/** Operations that must be refused while Redis accepts no writes. */
const OPERATIONS_WITH_REDIS_WRITES: readonly OperationName[] = ['token']
/** By how much an eviction fault sets the memory limit below the memory in use, so that Redis has to evict keys. */
const EVICTION_BYTES = 20_000
const REDIS_FAULT = { components: ['redis'] } as const

export const REDIS_FAULTS: readonly FaultCase[] = [
  ...CONNECTION_FAULTS.map(({ description, number, fault }) =>
    createConnectionFault({
      ...REDIS_FAULT,
      name: `Redis: ${description}`,
      numbers: [number],
      connections: ['auth redis', 'api redis'],
      refusedOperations: OPERATIONS_WITH_REDIS,
      fault,
    }),
  ),
  {
    ...REDIS_FAULT,
    name: 'Redis: suspended (SIGSTOP)',
    numbers: ['F-14'],
    refusedOperations: OPERATIONS_WITH_REDIS,
    begin: async ({ stack }) => void stack.redis.child.kill('SIGSTOP'),
    end: async ({ stack }) => void stack.redis.child.kill('SIGCONT'),
  },
  {
    ...REDIS_FAULT,
    name: 'Redis: killed (kill -9) and restarted empty',
    numbers: ['F-16'],
    refusedOperations: OPERATIONS_WITH_REDIS,
    begin: ({ stack }) => stack.redis.stop('SIGKILL'),
    end: ({ stack }, ledger) => recordTokenLoss(ledger, () => stack.redis.start()),
  },
  {
    ...REDIS_FAULT,
    name: 'Redis: FLUSHALL',
    numbers: ['F-16'],
    refusedOperations: [],
    begin: ({ redis }, ledger) => recordTokenLoss(ledger, async () => void (await redis.flushall())),
    end: async () => {},
  },
  {
    ...REDIS_FAULT,
    name: 'Redis: full (OOM)',
    numbers: ['F-15'],
    refusedOperations: OPERATIONS_WITH_REDIS_WRITES,
    begin: async ({ redis }) => void (await redis.config('SET', 'maxmemory', '1')),
    // The limit that `startRedis` sets by default.
    end: async ({ redis }) => void (await redis.config('SET', 'maxmemory', '256mb')),
  },
  {
    ...REDIS_FAULT,
    name: 'Redis: cannot write its disk (MISCONF)',
    numbers: ['F-15'],
    refusedOperations: OPERATIONS_WITH_REDIS_WRITES,
    begin: startSnapshotFailure,
    end: endSnapshotFailure,
  },
  {
    ...REDIS_FAULT,
    name: 'Redis: killed (kill -9) and restarted with data from before the last revocations',
    numbers: ['F-16'],
    refusedOperations: OPERATIONS_WITH_REDIS,
    // The load begins later, so the snapshot has none of its revocations.
    prepare: async ({ redis }) => void (await redis.save()),
    begin: ({ stack }) => stack.redis.stop('SIGKILL'),
    async end(system, ledger) {
      await recordTokenLoss(ledger, () => system.stack.redis.start())
      await rm(getSnapshotPath(system))
    },
  },
  createEvictionFault(),
  {
    ...REDIS_FAULT,
    name: 'Redis: a read-only replica (READONLY)',
    numbers: ['F-15', 'F-16'],
    refusedOperations: OPERATIONS_WITH_REDIS_WRITES,
    // No server listens on port 9, so the data stays.
    begin: async ({ redis }) => void (await redis.replicaof('127.0.0.1', 9)),
    // A promoted replica may lack the last revocations, so tokens from before its promotion are invalid.
    end: ({ redis }, ledger) =>
      recordTokenLoss(ledger, async () => void (await redis.replicaof('NO', 'ONE'))),
  },
]

/** Creates a fault with an eviction policy under which Redis can evict any key, such as a token or the subscribers. */
function createEvictionFault(): FaultCase {
  let endTokenLoss: () => Promise<void>
  return {
    ...REDIS_FAULT,
    name: 'Redis: evicts random keys (allkeys-random)',
    isManual: true,
    numbers: ['F-15'],
    refusedOperations: [],
    async begin({ redis }, ledger) {
      endTokenLoss = startTokenLoss(ledger)
      const usedBytes = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
      await redis.config('SET', 'maxmemory-policy', 'allkeys-random')
      await redis.config('SET', 'maxmemory', String(usedBytes - EVICTION_BYTES))
    },
    async end({ redis }) {
      await redis.config('SET', 'maxmemory', '256mb')
      await redis.config('SET', 'maxmemory-policy', 'noeviction')
      await endTokenLoss()
    },
  }
}

const getSnapshotPath = ({ stack }: FaultyStack) => path.join(path.dirname(stack.redis.logFile), 'dump.rdb')

/**
 * Creates a folder at the path of the snapshot, so that snapshots fail. While snapshots are enabled, Redis then refuses
 * writes.
 */
async function startSnapshotFailure(system: FaultyStack): Promise<void> {
  await mkdir(getSnapshotPath(system), { recursive: true })
  // Enables snapshots after a million writes in an hour. No run has so many, so only `bgsave` starts one.
  await system.redis.config('SET', 'save', '3600 1000000')
  await system.redis.bgsave()
}

/** Disables snapshots and removes the folder. */
async function endSnapshotFailure(system: FaultyStack): Promise<void> {
  await system.redis.config('SET', 'save', '')
  await rm(getSnapshotPath(system), { recursive: true })
}

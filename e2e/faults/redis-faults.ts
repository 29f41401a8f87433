import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Fault } from './fault.ts'
import { connectionFault, type FaultCase } from './fault-case.ts'
import type { FaultNumber } from './fault-numbers.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { recordTokenLoss, startTokenLoss } from './ledger.ts'
import type { OperationName } from './operations.ts'

const WAYS: readonly { readonly what: string; readonly number: FaultNumber; readonly fault: Fault }[] = [
  { what: 'refused', number: 'F-13', fault: { kind: 'refuse' } },
  { what: 'half-open', number: 'F-23', fault: { kind: 'half-open' } },
  // Longer than the time-out for a reply, but shorter than that for an idle connection, so replies come too late.
  { what: '0.3 s slow', number: 'F-14', fault: { kind: 'latency', ms: 150, jitterMs: 20 } },
  { what: '1 s slow', number: 'F-14', fault: { kind: 'latency', ms: 500, jitterMs: 100 } },
  { what: 'replies lost', number: 'F-14', fault: { kind: 'drop-replies' } },
  { what: 'cut in the middle of replies', number: 'F-13', fault: { kind: 'cut-after', bytes: 40 } },
]
const EVERYTHING: readonly OperationName[] = ['token', 'read with a token', 'revoke']
const WRITES: readonly OperationName[] = ['token']
const REDIS = { parts: ['auth redis'] } as const

export const REDIS_FAULTS: readonly FaultCase[] = [
  ...WAYS.map(({ what, number, fault }) =>
    connectionFault({
      ...REDIS,
      name: `Redis: ${what}`,
      numbers: [number],
      ways: ['auth redis', 'api redis'],
      refuses: EVERYTHING,
      fault,
    }),
  ),
  {
    ...REDIS,
    name: 'Redis: suspended (SIGSTOP)',
    numbers: ['F-14'],
    refuses: EVERYTHING,
    begin: async ({ stack }) => void stack.redis.child.kill('SIGSTOP'),
    end: async ({ stack }) => void stack.redis.child.kill('SIGCONT'),
  },
  {
    ...REDIS,
    name: 'Redis: kill -9 and started empty',
    numbers: ['F-16'],
    refuses: EVERYTHING,
    begin: ({ stack }) => stack.redis.stop('SIGKILL'),
    end: ({ stack }, ledger) => recordTokenLoss(ledger, () => stack.redis.start()),
  },
  {
    ...REDIS,
    name: 'Redis: FLUSHALL',
    numbers: ['F-16'],
    refuses: [],
    begin: ({ redis }, ledger) => recordTokenLoss(ledger, async () => void (await redis.flushall())),
    end: async () => {},
  },
  {
    ...REDIS,
    name: 'Redis: full (OOM)',
    numbers: ['F-15'],
    refuses: WRITES,
    begin: async ({ redis }) => void (await redis.config('SET', 'maxmemory', '1')),
    end: async ({ redis }) => void (await redis.config('SET', 'maxmemory', '256mb')),
  },
  {
    ...REDIS,
    name: 'Redis: cannot write its disk (MISCONF)',
    numbers: ['F-15'],
    refuses: WRITES,
    begin: failToSave,
    end: saveNoMore,
  },
  {
    ...REDIS,
    name: 'Redis: kill -9 and started with the data from before the last revocations',
    numbers: ['F-16'],
    refuses: EVERYTHING,
    prepare: async ({ redis }) => void (await redis.save()),
    begin: ({ stack }) => stack.redis.stop('SIGKILL'),
    async end(system, ledger) {
      await recordTokenLoss(ledger, () => system.stack.redis.start())
      await rm(readSnapshot(system))
    },
  },
  evicting(),
  {
    ...REDIS,
    name: 'Redis: a read-only replica (READONLY)',
    numbers: ['F-15', 'F-16'],
    refuses: WRITES,
    begin: async ({ redis }) => void (await redis.replicaof('127.0.0.1', 9)),
    // The replica may lack the last revocations, so tokens from before the failover are invalid.
    end: ({ redis }, ledger) =>
      recordTokenLoss(ledger, async () => void (await redis.replicaof('NO', 'ONE'))),
  },
]

/** Sets an eviction policy, so that Redis may evict any key, including tokens and subscribers. */
function evicting(): FaultCase {
  let over: () => Promise<void>
  return {
    ...REDIS,
    name: 'Redis: evicts random keys (allkeys-random)',
    isManual: true,
    numbers: ['F-15'],
    refuses: [],
    async begin({ redis }, ledger) {
      over = startTokenLoss(ledger)
      const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
      await redis.config('SET', 'maxmemory-policy', 'allkeys-random')
      await redis.config('SET', 'maxmemory', String(used - 20_000))
    },
    async end({ redis }) {
      await redis.config('SET', 'maxmemory', '256mb')
      await redis.config('SET', 'maxmemory-policy', 'noeviction')
      await over()
    },
  }
}

const readSnapshot = ({ stack }: FaultyStack) => path.join(path.dirname(stack.redis.logFile), 'dump.rdb')

/** Makes snapshots fail by a folder at the path of the file; Redis then refuses writes while snapshots are enabled. */
async function failToSave(system: FaultyStack): Promise<void> {
  await mkdir(readSnapshot(system), { recursive: true })
  await system.redis.config('SET', 'save', '3600 1000000')
  await system.redis.bgsave()
}

async function saveNoMore(system: FaultyStack): Promise<void> {
  await system.redis.config('SET', 'save', '')
  await rm(readSnapshot(system), { recursive: true })
}

import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Fault } from './fault.ts'
import { type FaultCase, onTheWay } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { losingTokens } from './ledger.ts'
import type { OperationName } from './operations.ts'

const WAYS: readonly { readonly what: string; readonly fault: Fault }[] = [
  { what: 'refused', fault: { kind: 'refuse' } },
  { what: 'half-open', fault: { kind: 'half-open' } },
  // Longer than an answer is waited for, shorter than silence is borne: answers come when nobody waits for them.
  { what: '0.3 s slow', fault: { kind: 'latency', ms: 150, jitterMs: 20 } },
  { what: '1 s slow', fault: { kind: 'latency', ms: 500, jitterMs: 100 } },
  { what: 'replies lost', fault: { kind: 'drop-replies' } },
  { what: 'cut in the middle of replies', fault: { kind: 'cut-after', bytes: 40 } },
]
const EVERYTHING: readonly OperationName[] = ['token', 'read with a token', 'revoke']
const WRITES: readonly OperationName[] = ['token']
const REDIS = { parts: ['auth redis'] } as const

export const REDIS_FAULTS: readonly FaultCase[] = [
  ...WAYS.map(({ what, fault }) =>
    onTheWay({
      ...REDIS,
      name: `Redis: ${what}`,
      ways: ['auth redis', 'api redis'],
      refuses: EVERYTHING,
      fault,
    }),
  ),
  {
    ...REDIS,
    name: 'Redis: stopped in its tracks (SIGSTOP)',
    refuses: EVERYTHING,
    begin: async ({ stack }) => void stack.redis.child.kill('SIGSTOP'),
    end: async ({ stack }) => void stack.redis.child.kill('SIGCONT'),
  },
  {
    ...REDIS,
    name: 'Redis: kill -9 and started empty',
    refuses: EVERYTHING,
    begin: ({ stack }) => stack.redis.stop('SIGKILL'),
    end: ({ stack }, ledger) => losingTokens(ledger, () => stack.redis.start()),
  },
  {
    ...REDIS,
    name: 'Redis: FLUSHALL',
    refuses: [],
    begin: ({ redis }, ledger) => losingTokens(ledger, async () => void (await redis.flushall())),
    end: async () => {},
  },
  {
    ...REDIS,
    name: 'Redis: full (OOM)',
    refuses: WRITES,
    begin: async ({ redis }) => void (await redis.config('SET', 'maxmemory', '1')),
    end: async ({ redis }) => void (await redis.config('SET', 'maxmemory', '256mb')),
  },
  {
    ...REDIS,
    name: 'Redis: cannot write its disk (MISCONF)',
    refuses: WRITES,
    begin: failToSave,
    end: saveNoMore,
  },
  {
    ...REDIS,
    name: 'Redis: a read-only replica (READONLY)',
    refuses: WRITES,
    begin: async ({ redis }) => void (await redis.replicaof('127.0.0.1', 9)),
    end: async ({ redis }) => void (await redis.replicaof('NO', 'ONE')),
  },
]

const inTheWay = ({ stack }: FaultyStack) => path.join(path.dirname(stack.redis.logFile), 'dump.rdb')

/** A snapshot cannot take the place of a folder; Redis then refuses writes while it is told to make snapshots. */
async function failToSave(system: FaultyStack): Promise<void> {
  await mkdir(inTheWay(system), { recursive: true })
  await system.redis.config('SET', 'save', '3600 1000000')
  await system.redis.bgsave()
}

async function saveNoMore(system: FaultyStack): Promise<void> {
  await system.redis.config('SET', 'save', '')
  await rm(inTheWay(system), { recursive: true })
}

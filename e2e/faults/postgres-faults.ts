import type { Pool } from '@plainpath/postgres'
import type { Fault } from './fault.ts'
import { connectionFault, type FaultCase } from './fault-case.ts'
import type { FaultNumber } from './fault-numbers.ts'

interface OnTheWay {
  readonly what: string
  readonly numbers: readonly FaultNumber[]
  readonly fault: Fault
}
const WAYS: readonly OnTheWay[] = [
  { what: 'refused', numbers: ['F-01'], fault: { kind: 'refuse' } },
  { what: 'half-open', numbers: ['F-23'], fault: { kind: 'half-open' } },
  { what: '3 s slow', numbers: ['F-03'], fault: { kind: 'latency', ms: 1_500, jitterMs: 200 } },
  { what: 'replies lost', numbers: ['F-05'], fault: { kind: 'drop-replies' } },
]
const MORE_WAYS: typeof WAYS = [
  { what: 'reads nothing', numbers: ['F-02'], fault: { kind: 'stop-reading' } },
  { what: 'cut in the middle of replies', numbers: ['F-05'], fault: { kind: 'cut-after', bytes: 150 } },
]

const SERVER = { parts: ['auth database', 'api database'] } as const

export const POSTGRES_FAULTS: readonly FaultCase[] = [
  ...[...WAYS, ...MORE_WAYS].map(({ what, numbers, fault }) =>
    connectionFault({
      name: `Postgres of auth: ${what}`,
      numbers,
      ways: ['auth database'],
      parts: ['auth database'],
      refuses: ['register'],
      fault,
    }),
  ),
  ...WAYS.map(({ what, numbers, fault }) =>
    connectionFault({
      name: `Postgres of the API: ${what}`,
      numbers,
      ways: ['api database'],
      parts: ['api database'],
      refuses: ['join'],
      failsCheck: 'database',
      fault,
    }),
  ),
  {
    ...SERVER,
    name: 'Postgres: stopped and started',
    numbers: ['F-01'],
    refuses: ['register', 'join'],
    failsCheck: 'database',
    begin: ({ postgres }) => postgres.stop('SIGINT'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...SERVER,
    name: 'Postgres: kill -9 and started',
    numbers: ['F-01'],
    refuses: ['register', 'join'],
    failsCheck: 'database',
    begin: ({ postgres }) => postgres.stop('SIGKILL'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...SERVER,
    name: 'Postgres: stopped for 10 s and started, while clients send refused requests three times',
    numbers: ['F-38'],
    refuses: ['register', 'join'],
    retries: 2,
    isManual: true,
    minSeconds: { steady: 3, held: 10, recovery: 5 },
    graceMs: 15_000,
    maxRecoveryMs: 15_000,
    begin: ({ postgres }) => postgres.stop('SIGINT'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...SERVER,
    name: 'Postgres: all its processes are suspended (SIGSTOP)',
    numbers: ['F-02'],
    refuses: ['register', 'join'],
    failsCheck: 'database',
    begin: async ({ postgres }) => postgres.freeze(true),
    end: async ({ postgres }) => postgres.freeze(false),
  },
  ...(['auth database', 'api database'] as const).map((way) =>
    connectionFault({
      name: `Postgres of ${way === 'auth database' ? 'auth' : 'the API'}: 0.3 s slow`,
      numbers: ['F-03'],
      ways: [way],
      parts: [way],
      refuses: [],
      isManual: true,
      fault: { kind: 'latency', ms: 150, jitterMs: 20 },
    }),
  ),
  {
    ...SERVER,
    name: 'Postgres: read-only',
    numbers: ['F-06'],
    refuses: ['register', 'join'],
    begin: ({ admin }) => reconfigure(admin.server, 'set default_transaction_read_only = on'),
    // A read-only session may still change the server's settings.
    end: ({ admin }) => reconfigure(admin.server, 'reset default_transaction_read_only'),
  },
  {
    ...SERVER,
    name: 'Postgres: all connections killed, repeatedly',
    numbers: ['F-04'],
    refuses: [],
    begin: async ({ admin }) => {
      for (let times = 0; times < 20; times += 1) {
        await admin.server.query(
          `select count(pg_terminate_backend(pid)) from pg_stat_activity
           where datname in ('plainpath_auth', 'plainpath_resource') and application_name <> 'plainpath faults'`,
        )
        await admin.server.query('select pg_sleep(0.1)')
      }
    },
    end: async () => {},
  },
]

async function reconfigure(server: Pool, change: string): Promise<void> {
  await server.query(`alter system ${change}`)
  await server.query('select pg_reload_conf()')
}

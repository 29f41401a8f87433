import type { Pool } from '@plainpath/postgres'
import type { Fault } from './fault.ts'
import { type FaultCase, onTheWay } from './fault-case.ts'

const WAYS: readonly { readonly what: string; readonly fault: Fault }[] = [
  { what: 'refused', fault: { kind: 'refuse' } },
  { what: 'half-open', fault: { kind: 'half-open' } },
  { what: '3 s slow', fault: { kind: 'latency', ms: 1_500, jitterMs: 200 } },
  { what: 'replies lost', fault: { kind: 'drop-replies' } },
]
const MORE_WAYS: typeof WAYS = [
  { what: 'reads nothing', fault: { kind: 'stop-reading' } },
  { what: 'cut in the middle of replies', fault: { kind: 'cut-after', bytes: 150 } },
]

const SERVER = { parts: ['auth database', 'api database'] } as const

export const POSTGRES_FAULTS: readonly FaultCase[] = [
  ...[...WAYS, ...MORE_WAYS].map(({ what, fault }) =>
    onTheWay({
      name: `Postgres of auth: ${what}`,
      ways: ['auth database'],
      parts: ['auth database'],
      refuses: ['register'],
      fault,
    }),
  ),
  ...WAYS.map(({ what, fault }) =>
    onTheWay({
      name: `Postgres of the API: ${what}`,
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
    refuses: ['register', 'join'],
    failsCheck: 'database',
    begin: ({ postgres }) => postgres.stop('SIGINT'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...SERVER,
    name: 'Postgres: kill -9 and started',
    refuses: ['register', 'join'],
    failsCheck: 'database',
    begin: ({ postgres }) => postgres.stop('SIGKILL'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...SERVER,
    name: 'Postgres: read-only',
    refuses: ['register', 'join'],
    begin: ({ admin }) => reconfigure(admin.server, 'set default_transaction_read_only = on'),
    // A read-only session may still change the server's settings.
    end: ({ admin }) => reconfigure(admin.server, 'reset default_transaction_read_only'),
  },
  {
    ...SERVER,
    name: 'Postgres: all connections killed, again and again',
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

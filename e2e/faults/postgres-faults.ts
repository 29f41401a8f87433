import type { Pool } from '@plainpath/postgres'
import type { Fault } from './fault.ts'
import { createConnectionFault, type FaultCase } from './fault-case.ts'
import type { FaultNumber } from './fault-numbers.ts'

interface ConnectionFault {
  readonly description: string
  readonly numbers: readonly FaultNumber[]
  readonly fault: Fault
}
/** Faults of the connections to auth's database, and to the API's database. */
const CONNECTION_FAULTS: readonly ConnectionFault[] = [
  { description: 'refused', numbers: ['F-01'], fault: { kind: 'refuse' } },
  { description: 'half-open', numbers: ['F-23'], fault: { kind: 'half-open' } },
  // Requests and replies are each delayed by about 1.5 s. Together, that exceeds the limits for connecting (1 s) and for
  // statements (2 s).
  { description: '3 s slow', numbers: ['F-03'], fault: { kind: 'latency', ms: 1_500, jitterMs: 200 } },
  { description: 'replies lost', numbers: ['F-05'], fault: { kind: 'drop-replies' } },
]
/** Faults of the connections to auth's database only. */
const AUTH_CONNECTION_FAULTS: typeof CONNECTION_FAULTS = [
  { description: 'reads nothing', numbers: ['F-02'], fault: { kind: 'stop-reading' } },
  {
    description: 'cut in the middle of replies',
    numbers: ['F-05'],
    fault: { kind: 'cut-after', bytes: 150 },
  },
]

/** The components of a fault of the server that holds the databases of both apps. */
export const BOTH_DATABASES = { components: ['auth database', 'api database'] } as const

export const POSTGRES_FAULTS: readonly FaultCase[] = [
  // These have no `failingCheck`, because `/api/health` checks the API's database and not auth's.
  ...[...CONNECTION_FAULTS, ...AUTH_CONNECTION_FAULTS].map(({ description, numbers, fault }) =>
    createConnectionFault({
      name: `Postgres of auth: ${description}`,
      numbers,
      connections: ['auth database'],
      components: ['auth database'],
      refusedOperations: ['register'],
      fault,
    }),
  ),
  ...CONNECTION_FAULTS.map(({ description, numbers, fault }) =>
    createConnectionFault({
      name: `Postgres of the API: ${description}`,
      numbers,
      connections: ['api database'],
      components: ['api database'],
      refusedOperations: ['join'],
      failingCheck: 'database',
      fault,
    }),
  ),
  {
    ...BOTH_DATABASES,
    name: 'Postgres: stopped and restarted',
    numbers: ['F-01'],
    refusedOperations: ['register', 'join'],
    failingCheck: 'database',
    begin: ({ postgres }) => postgres.stop('SIGINT'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...BOTH_DATABASES,
    name: 'Postgres: killed (kill -9) and restarted',
    numbers: ['F-01'],
    refusedOperations: ['register', 'join'],
    failingCheck: 'database',
    begin: ({ postgres }) => postgres.stop('SIGKILL'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...BOTH_DATABASES,
    name: 'Postgres: stopped for 10 s and restarted, while clients send refused requests three times',
    numbers: ['F-38'],
    refusedOperations: ['register', 'join'],
    retries: 2,
    isManual: true,
    minSeconds: { steady: 3, held: 10, recovery: 5 },
    graceMs: 15_000,
    maxRecoveryMs: 15_000,
    begin: ({ postgres }) => postgres.stop('SIGINT'),
    end: ({ postgres }) => postgres.start(),
  },
  {
    ...BOTH_DATABASES,
    name: 'Postgres: all its processes are suspended (SIGSTOP)',
    numbers: ['F-02'],
    refusedOperations: ['register', 'join'],
    failingCheck: 'database',
    begin: async ({ postgres }) => postgres.freeze(true),
    // Lets the processes continue.
    end: async ({ postgres }) => postgres.freeze(false),
  },
  ...(['auth database', 'api database'] as const).map((connection) =>
    createConnectionFault({
      name: `Postgres of ${connection === 'auth database' ? 'auth' : 'the API'}: 0.3 s slow`,
      numbers: ['F-03'],
      connections: [connection],
      components: [connection],
      refusedOperations: [],
      isManual: true,
      fault: { kind: 'latency', ms: 150, jitterMs: 20 },
    }),
  ),
  {
    ...BOTH_DATABASES,
    name: 'Postgres: read-only',
    numbers: ['F-06'],
    refusedOperations: ['register', 'join'],
    begin: ({ admin }) => reconfigure(admin.server, 'set default_transaction_read_only = on'),
    // A read-only session can still change the server's settings.
    end: ({ admin }) => reconfigure(admin.server, 'reset default_transaction_read_only'),
  },
  {
    ...BOTH_DATABASES,
    name: 'Postgres: all connections killed, repeatedly',
    numbers: ['F-04'],
    // No operation needs to be refused, because a killed connection is replaced.
    refusedOperations: [],
    // Kills the connections 20 times in about two seconds, under load. Nothing is left to end then.
    begin: async ({ admin }) => {
      for (let round = 0; round < 20; round += 1) {
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

/**
 * Changes a server setting and reloads the configuration.
 *
 * @param change the part of `alter system` that follows these two words
 */
async function reconfigure(server: Pool, change: string): Promise<void> {
  await server.query(`alter system ${change}`)
  await server.query('select pg_reload_conf()')
}

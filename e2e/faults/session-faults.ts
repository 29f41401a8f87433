import type { Pool } from '@plainpath/postgres'
import { connectionFault, type FaultCase, repeatedFault } from './fault-case.ts'

const SERVER = { parts: ['auth database', 'api database'] } as const
const OURS = `datname in ('plainpath_auth', 'plainpath_resource') and application_name <> 'plainpath faults'`
/** The roles of the apps, which own no tables. */
const APP_ROLES = `select rolname from pg_roles where not rolsuper and rolcanlogin and exists (
  select from pg_stat_activity where usename = rolname and ${OURS})`

/** Faults of single connections to PostgreSQL, and of locks. */
export const SESSION_FAULTS: readonly FaultCase[] = [
  repeatedFault({
    ...SERVER,
    name: 'Postgres: one connection killed, five times a second',
    numbers: ['F-04'],
    refuses: [],
    maxRefusedShare: 0.03,
    act: async ({ admin }) => {
      await admin.server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where ${OURS} order by state = 'idle', random() limit 1`,
      )
      await admin.server.query('select pg_sleep(0.2)')
    },
  }),
  connectionFault({
    name: 'Postgres of auth: the replies to inserts of agents are lost, the rows stored',
    numbers: ['F-05'],
    ways: ['auth database'],
    parts: ['auth database'],
    refuses: ['register'],
    // The name of the prepared statement, which is sent each time; its text is sent once.
    fault: { kind: 'lose-reply-to', request: 'add-agent\0' },
  }),
  connectionFault({
    name: 'Postgres of the API: the replies to inserts of the waitlist lost, the rows stored',
    numbers: ['F-05'],
    ways: ['api database'],
    parts: ['api database'],
    refuses: ['join'],
    isManual: true,
    fault: { kind: 'lose-reply-to', request: 'add-waitlist-entry\0' },
  }),
  {
    ...SERVER,
    name: 'Postgres: no more connections for the roles of the apps (53300)',
    numbers: ['F-11'],
    refuses: ['register', 'join'],
    failsCheck: 'database',
    begin: async ({ admin }) => {
      await limitConnections(admin.server, 0)
      await endSessions(admin.server)
    },
    end: ({ admin }) => limitConnections(admin.server, -1),
  },
  {
    ...SERVER,
    name: 'Postgres: new connections hang, the open ones work',
    numbers: ['F-24'],
    refuses: [],
    maxRefusedShare: 0.05,
    begin: (system) => system.put({ kind: 'hang-new' }, 'auth database', 'api database'),
    end: (system) => system.put({ kind: 'pass' }, 'auth database', 'api database'),
  },
  lockStorm('agents', 'auth'),
  lockStorm('waitlist_entries', 'api'),
]

/** Locks a table, so that soon every connection of the pools waits for the lock. */
function lockStorm(table: string, app: 'auth' | 'api'): FaultCase {
  const part = app === 'auth' ? 'auth database' : 'api database'
  let letGo: (() => void) | undefined
  let held: Promise<void> | undefined
  return {
    name: `Postgres: table ${table} locked`,
    numbers: ['F-11', 'F-12'],
    parts: [part],
    refuses: [app === 'auth' ? 'register' : 'join'],
    isManual: app === 'api',
    async begin(system) {
      const taken = Promise.withResolvers<void>()
      const over = Promise.withResolvers<void>()
      letGo = over.resolve
      held = holdLock(system.admin[app], table, taken.resolve, over.promise)
      await Promise.race([taken.promise, held])
    },
    async end() {
      letGo?.()
      await held
    },
  }
}

function holdLock(db: Pool, table: string, taken: () => void, over: Promise<void>): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.query(`set local idle_in_transaction_session_timeout = 0`)
    await tx.query(`set local lock_timeout = 0`)
    await tx.query(`lock table ${table} in access exclusive mode`)
    taken()
    await over
  })
}

async function limitConnections(server: Pool, most: number): Promise<void> {
  const { rows } = await server.query<{ rolname: string }>(
    most === 0 ? APP_ROLES : 'select rolname from pg_roles where rolconnlimit = 0',
  )
  for (const { rolname } of rows) await server.query(`alter role "${rolname}" connection limit ${most}`)
}

async function endSessions(server: Pool): Promise<void> {
  await server.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`)
}

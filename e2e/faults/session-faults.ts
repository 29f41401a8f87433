import type { Pool } from '@plainpath/postgres'
import { createConnectionFault, createRepeatedFault, type FaultCase } from './fault-case.ts'
import { BOTH_DATABASES } from './postgres-faults.ts'

/** Selects the sessions of the apps, and not those of the scenarios (`FaultyStack.admin`). */
const APP_SESSIONS = `datname in ('plainpath_auth', 'plainpath_resource') and application_name <> 'plainpath faults'`
/** Selects the roles with which the apps are connected. */
const APP_ROLES = `select rolname from pg_roles where not rolsuper and rolcanlogin and exists (
  select from pg_stat_activity where usename = rolname and ${APP_SESSIONS})`

/** Faults of sessions: lost, refused and hanging connections, lost replies, and locks. */
export const SESSION_FAULTS: readonly FaultCase[] = [
  createRepeatedFault({
    ...BOTH_DATABASES,
    name: 'Postgres: one connection killed, five times a second',
    numbers: ['F-04'],
    refusedOperations: [],
    maxRefusedShare: 0.03,
    // Kills a session that is not idle, if there is one, so that it ends in the middle of its work.
    act: async ({ admin }) => {
      await admin.server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where ${APP_SESSIONS} order by state = 'idle', random() limit 1`,
      )
      await admin.server.query('select pg_sleep(0.2)')
    },
  }),
  createConnectionFault({
    name: 'Postgres of auth: the replies to inserts of agents are lost, but the rows are stored',
    numbers: ['F-05'],
    connections: ['auth database'],
    components: ['auth database'],
    refusedOperations: ['register'],
    // This is the name of the prepared statement. It is sent each time, unlike the text of the statement.
    fault: { kind: 'lose-reply-to', request: 'add-agent\0' },
  }),
  createConnectionFault({
    name: 'Postgres of the API: the replies to inserts into the waitlist are lost, but the rows are stored',
    numbers: ['F-05'],
    connections: ['api database'],
    components: ['api database'],
    refusedOperations: ['join'],
    isManual: true,
    fault: { kind: 'lose-reply-to', request: 'add-waitlist-entry\0' },
  }),
  {
    ...BOTH_DATABASES,
    name: 'Postgres: no more connections for the roles of the apps (53300)',
    numbers: ['F-11'],
    refusedOperations: ['register', 'join'],
    failingCheck: 'database',
    begin: async ({ admin }) => {
      await limitConnections(admin.server, 0)
      await terminateSessions(admin.server)
    },
    end: ({ admin }) => limitConnections(admin.server, -1),
  },
  {
    ...BOTH_DATABASES,
    name: 'Postgres: new connections hang, but open ones work',
    numbers: ['F-24'],
    refusedOperations: [],
    maxRefusedShare: 0.05,
    begin: (system) => system.setFault({ kind: 'hang-new' }, 'auth database', 'api database'),
    end: (system) => system.setFault({ kind: 'pass' }, 'auth database', 'api database'),
  },
  createLockFault('agents', 'auth'),
  createLockFault('waitlist_entries', 'api'),
]

/** Creates a fault that locks a table, so that soon every connection of an app's pools waits for the lock. */
function createLockFault(table: string, app: 'auth' | 'api'): FaultCase {
  const component = app === 'auth' ? 'auth database' : 'api database'
  let releaseLock: (() => void) | undefined
  let lock: Promise<void> | undefined
  return {
    name: `Postgres: table ${table} locked`,
    numbers: ['F-11', 'F-12'],
    components: [component],
    refusedOperations: [app === 'auth' ? 'register' : 'join'],
    isManual: app === 'api',
    async begin(system) {
      const locked = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      releaseLock = released.resolve
      lock = holdLock(system.admin[app], table, locked.resolve, released.promise)
      await Promise.race([locked.promise, lock])
    },
    async end() {
      releaseLock?.()
      await lock
    },
  }
}

/** Locks a table until `released` resolves. Calls `onLocked` when it has the lock. */
function holdLock(db: Pool, table: string, onLocked: () => void, released: Promise<void>): Promise<void> {
  return db.transaction(async (tx) => {
    // The settings of the pool would end an idle transaction after 5 s, and a wait for a lock after 0.5 s.
    await tx.query(`set local idle_in_transaction_session_timeout = 0`)
    await tx.query(`set local lock_timeout = 0`)
    await tx.query(`lock table ${table} in access exclusive mode`)
    onLocked()
    await released
  })
}

/** Limits the connections of each app role. @param limit 0 refuses new connections; -1 removes the limit */
async function limitConnections(server: Pool, limit: number): Promise<void> {
  const { rows } = await server.query<{ rolname: string }>(
    limit === 0 ? APP_ROLES : 'select rolname from pg_roles where rolconnlimit = 0',
  )
  for (const { rolname } of rows) await server.query(`alter role "${rolname}" connection limit ${limit}`)
}

async function terminateSessions(server: Pool): Promise<void> {
  await server.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${APP_SESSIONS}`)
}

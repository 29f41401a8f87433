import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import type { SealingKeys } from '@plainpath/sealing'
import type { AgentStore } from '../src/agents/agent-store.ts'
import { postgresAgentStore } from '../src/agents/postgres-agent-store.ts'
import { postgresStopStore, readStop } from '../src/tokens/postgres-stop-store.ts'
import type { StopStore } from '../src/tokens/stop-store.ts'
import { STANDING, type StopOf } from '../src/tokens/token-store.ts'
import { MIGRATIONS } from '../src/wire/wire-stores.ts'
import { exampleSealingKeys } from './example-agent.ts'

/** A database of its own with our tables, and the real agents in it: the authority on generations. */
export interface Authority extends AsyncDisposable {
  readonly database: TestDatabase
  readonly db: Pool
  readonly sealingKeys: SealingKeys
  readonly agents: AgentStore
  /** Of an active agent or a standing claim, as `wire-stores.ts` asks for it. */
  generationOf(id: string): Promise<number | undefined>
  readonly stops: StopStore
  stopOf: StopOf
}

export async function openAuthority(): Promise<Authority> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'auth' }))
  const db = opening.use(openPool(database.appUrl, { applicationName: 'plainpath-auth test' }))
  const sealingKeys = exampleSealingKeys()
  const agents = postgresAgentStore(db, sealingKeys)
  const resources = opening.move()
  return {
    database,
    db,
    sealingKeys,
    agents,
    stops: postgresStopStore(db),
    stopOf: () => readStop(db),
    async generationOf(id) {
      const { rows } = await db.query<{ generation: number }>(
        `select generation from agents where id = $1 and status = 'active'
         union all select ${STANDING} from claims where id = $1 and ended_at is null`,
        [id],
      )
      return rows[0]?.generation
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Every row of every table, as text: what somebody who copies the database can read. */
export async function dumpTables(db: Pool): Promise<string> {
  const { rows: tables } = await db.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  )
  const dumps = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await db.query<{ row: string }>(`select t::text as row from ${name} t`)
      return rows.map(({ row }) => `${name} ${row} ${readableBytes(row)}`).join('\n')
    }),
  )
  return dumps.join('\n')
}

/** What `bytea` columns hold, read as text. */
const readableBytes = (row: string) =>
  [...row.matchAll(/\\x([0-9a-f]+)/g)]
    .map(([, hex]) => Buffer.from(hex ?? '', 'hex').toString('latin1'))
    .join(' ')

/** How many rows each table holds. */
export async function countRows(db: Pool): Promise<Record<string, number>> {
  const tables = [
    ...['agents', 'agent_secrets', 'expired_agents', 'client_assertions', 'signing_keys', 'tokens'],
    ...['claims', 'claim_attempts', 'claim_tries', 'claim_blocks', 'mails'],
  ]
  const { rows } = await db.query<Record<string, number>>(
    `select ${tables.map((table) => `(select count(*) from ${table}) as ${table}`).join(', ')}`,
  )
  return rows[0] ?? {}
}

import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import type { Sealer } from '@plainpath/sealing'
import { type AgentStore, getActiveCredentialVersion } from '../src/agents/agent-store.ts'
import { createAgentStore } from '../src/agents/postgres-agent-store.ts'
import { type AuthEvents, createEvents } from '../src/events.ts'
import { noOpRevocationPublisher } from '../src/revocation/revocation-publisher.ts'
import { MIGRATIONS } from '../src/stores.ts'
import {
  createEmergencyRevocationStore,
  type EmergencyRevocationStore,
  readCutoff,
} from '../src/tokens/emergency-revocation-store.ts'
import type { TokenAuthority } from '../src/tokens/token-store.ts'
import { isStoredVerificationLive } from '../src/verifications/postgres-verification-store.ts'
import { createExampleSealer } from './example-agent.ts'

/** A migrated database, and the stores that decide which tokens are valid. */
export interface TestStores extends AsyncDisposable {
  readonly database: TestDatabase
  readonly db: Pool
  readonly sealer: Sealer
  readonly events: AuthEvents
  readonly agents: AgentStore
  readonly emergencyRevocations: EmergencyRevocationStore
  /**
   * Creates the `TokenAuthority` that reads these stores.
   *
   * @param now the clock against which the expiry of verifications is checked
   */
  createTokenAuthority(now: () => Date): TokenAuthority
}

/** Dependencies of the verification store and of `expireAgents` that do nothing, for a test that issues no tokens. */
export const NO_OP_TOKEN_DEPS = {
  tokens: { revokeTokensOf: async () => undefined },
  revocationPublisher: noOpRevocationPublisher,
}

/** Opens the stores in a new database. The agent store discards its mails and uses the real time. */
export async function openTestStores(): Promise<TestStores> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'auth' }))
  const db = opening.use(openPool(database.appUrl, { applicationName: 'plainpath-auth test', patience: 5 }))
  const sealer = createExampleSealer()
  const events = createEvents()
  const agents = createAgentStore(db, {
    sealer,
    addMail: async () => undefined,
    events,
    now: () => new Date(),
  })
  const resources = opening.move()
  return {
    database,
    db,
    sealer,
    events,
    agents,
    emergencyRevocations: createEmergencyRevocationStore(db, events),
    createTokenAuthority: (now) => ({
      findCredentialVersion: async (id) => getActiveCredentialVersion(await agents.find(id)),
      isVerificationLive: (id) => isStoredVerificationLive(db, id, now()),
      readCutoff: () => readCutoff(db),
    }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Dumps every row of every table as text, and also its decoded `bytea` values. For tests that search for plaintext. */
export async function dumpTables(db: Pool): Promise<string> {
  const { rows: tables } = await db.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  )
  const dumps = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await db.query<{ row: string }>(`select t::text as row from ${name} t`)
      return rows.map(({ row }) => `${name} ${row} ${decodeBytea(row)}`).join('\n')
    }),
  )
  return dumps.join('\n')
}

/** Finds the `bytea` values in a row, and decodes them as Latin-1. That maps each byte to a character, so ASCII text stays. */
const decodeBytea = (row: string) =>
  [...row.matchAll(/\\x([0-9a-f]+)/g)]
    .map(([, hex]) => Buffer.from(hex ?? '', 'hex').toString('latin1'))
    .join(' ')

/** Tables of agents, apps, signing keys, tokens and the data of people. `claims` and `claim_…` are for e-mail verifications. */
const COUNTED_TABLES = [
  'agents',
  'agent_secrets',
  'expired_agents',
  'client_assertions',
  'signing_keys',
  'tokens',
  'claims',
  'claim_attempts',
  'claim_tries',
  'claim_blocks',
  'mails',
  'app_clients',
  'sign_ins',
  'oauth_records',
  'identity_assertions',
]

/** Counts the rows of each table in `COUNTED_TABLES`. */
export async function countRows(db: Pool): Promise<Record<string, number>> {
  const { rows } = await db.query<Record<string, number>>(
    `select ${COUNTED_TABLES.map((table) => `(select count(*) from ${table}) as ${table}`).join(', ')}`,
  )
  return rows[0] ?? {}
}

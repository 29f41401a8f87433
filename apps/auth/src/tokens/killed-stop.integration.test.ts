import type { Database, Pool } from '@plainpath/postgres'
import { sha256 } from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { verifyRows } from '../audit/audit-chain.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { revokeInEmergency } from './emergency-revocation.ts'
import { createEmergencyRevocationStore, type RevocationScope } from './emergency-revocation-store.ts'
import { createPostgresTokenStore } from './postgres-token-store.ts'
import { generateToken } from './token-store.contract.ts'

/**
 * Wraps a pool. Instead of running one statement, the database closes the connection, as if the process had been killed.
 *
 * @param killedStatement the number of that statement, counted from 1
 */
function killAtStatement(db: Pool, killedStatement: number): Pool & { readonly wasKilled: boolean } {
  const state = { wasKilled: false, statementCount: 0 }
  const countStatements = (database: Database): Database => ({
    async query(text, values) {
      state.statementCount += 1
      if (state.statementCount !== killedStatement) return database.query(text, values)
      state.wasKilled = true
      await database.query('select pg_terminate_backend(pg_backend_pid())')
      throw new Error('killed')
    },
  })
  const transaction: Pool['transaction'] = (work) => db.transaction((tx) => work(countStatements(tx)))
  return Object.defineProperty({ ...db, ...countStatements(db), transaction }, 'wasKilled', {
    get: () => state.wasKilled,
  }) as never
}

/** Saves a token of a new agent that was issued a minute ago and is valid for another minute. */
async function issueToken({ db, agents }: TestStores) {
  const record = createExampleAgent()
  await agents.add(record)
  const clientId = record.agent.id
  const tokens = createPostgresTokenStore(db, { now: () => new Date() })
  const hash = sha256(generateToken())
  const issuedAt = new Date(Date.now() - 60_000)
  const expiresAt = new Date(Date.now() + 60_000)
  const { epoch } = await tokens.readCutoff()
  await tokens.save(hash, {
    clientId,
    credentialVersion: 1,
    epoch,
    scope: '',
    audience: '',
    issuedAt,
    expiresAt,
  })
  return { clientId, isActive: async () => (await tokens.find(hash)) !== undefined, tokens }
}

test.for(['all-tokens', 'issued-before', 'client'] as const)(
  'a revocation with the scope %s can be repeated after the process was killed at any statement',
  async (kind) => {
    await using stores = await openTestStores()
    const actor = { user: 'rosa', host: 'desk' }
    for (let killedStatement = 1, wasKilled = true; wasKilled; killedStatement += 1) {
      const { clientId, isActive, tokens } = await issueToken(stores)
      // After the issue of the token.
      const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 30_000)
      const scopes: Record<typeof kind, RevocationScope> = {
        'all-tokens': { kind: 'all-tokens' },
        'issued-before': { kind: 'issued-before', at },
        client: { kind: 'client', clientId },
      }
      const killedPool = killAtStatement(stores.db, killedStatement)
      const revoke = (db: Pool) =>
        revokeInEmergency(
          {
            revocationPublisher: noOpRevocationPublisher,
            emergencyRevocations: createEmergencyRevocationStore(db, stores.events),
            tokens,
            actor,
          },
          scopes[kind],
          { reason: 'a test' },
        )
      const rowCount = (await stores.emergencyRevocations.readAudit()).length
      const hasFailed = await revoke(killedPool).then(
        () => false,
        () => true,
      )
      wasKilled = killedPool.wasKilled
      if (wasKilled) {
        expect(hasFailed).toBe(true)
        // An earlier round has already revoked every token that was issued before `at`.
        if (kind !== 'issued-before' || killedStatement === 1) expect(await isActive()).toBe(true)
        expect(await stores.emergencyRevocations.readAudit()).toHaveLength(rowCount)
        expect((await revoke(stores.db)).ok).toBe(true)
      } else {
        // The last round: no statement was left to kill. Too few statements would mean that the wrapper misses some.
        expect(killedStatement).toBeGreaterThan(6)
      }
      expect(await isActive()).toBe(false)
      expect(verifyRows(await stores.emergencyRevocations.readAudit()).ok).toBe(true)
    }
  },
)

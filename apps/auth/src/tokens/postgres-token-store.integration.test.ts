import { sha256 } from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { dumpTables, type TestStores } from '../../test/open-test-stores.ts'
import { describeEmergencyRevocation } from './emergency-revocation.contract.ts'
import { createPostgresTokenStore } from './postgres-token-store.ts'
import { describeTokenStore, generateToken, openTokenStoreFixture } from './token-store.contract.ts'
import { describeTokenStoreModel } from './token-store-model.contract.ts'
import { describeVerifiedTokens } from './token-store-verifications.contract.ts'

const open = async ({ db }: TestStores, now: () => Date) => ({
  tokens: createPostgresTokenStore(db, { now }),
  dump: () => dumpTables(db),
  async [Symbol.asyncDispose]() {},
})

describeTokenStore('Postgres', open)
describeVerifiedTokens('Postgres', open)
describeEmergencyRevocation('Postgres', open)
describeTokenStoreModel('Postgres', open)

test('finds no token of a client that was disabled with SQL', async () => {
  await using fixture = await openTokenStoreFixture(open)
  const record = createExampleAgent()
  const clientId = record.agent.id
  await fixture.stores.agents.add(record)
  const hash = sha256(generateToken())
  const issuedAt = fixture.clock.now
  const expiresAt = new Date(issuedAt.getTime() + 1_000)
  await fixture.tokens.save(hash, {
    clientId,
    credentialVersion: 1,
    epoch: 0,
    scope: '',
    audience: '',
    issuedAt,
    expiresAt,
  })
  expect(await fixture.tokens.find(hash)).toBeDefined()
  await fixture.stores.db.query(`update agents set status = 'disabled' where id = $1`, [clientId])
  expect(await fixture.tokens.find(hash)).toBeUndefined()
})

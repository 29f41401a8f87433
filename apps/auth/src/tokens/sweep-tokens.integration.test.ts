import type { AgentId } from '@plainpath/domain'
import { createLog } from '@plainpath/http'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { createEvents } from '../events.ts'
import { startSweep } from '../upkeep.ts'
import { createPostgresTokenStore } from './postgres-token-store.ts'
import { sweepTokens } from './sweep-tokens.ts'
import { generateToken } from './token-store.contract.ts'

/*
 * Tests `sweepTokens`, and `startSweep` with it. All tests share one table. The valid token of the first test remains in it
 * throughout.
 */

let stores: TestStores
let clientId: AgentId
beforeAll(async () => {
  stores = await openTestStores()
  const record = createExampleAgent()
  await stores.agents.add(record)
  clientId = record.agent.id
})
afterAll(() => stores[Symbol.asyncDispose]())

const now = new Date('2026-11-20T09:00:00Z')
async function saveToken(secondsLeft: number) {
  const hash = sha256(generateToken())
  const expiresAt = new Date(now.getTime() + secondsLeft * 1000)
  const token = {
    clientId,
    credentialVersion: 1,
    epoch: 0,
    scope: '',
    audience: '',
    issuedAt: now,
    expiresAt,
  }
  await createPostgresTokenStore(stores.db, { now: () => now }).save(hash, token)
  return hash
}
const readStoredHashes = async () => {
  const { rows } = await stores.db.query<{ token_hash: Buffer }>('select token_hash from tokens')
  return rows.map((row) => row.token_hash)
}

test('deletes expired tokens and keeps the others', async () => {
  const validHash = await saveToken(1)
  await Promise.all([saveToken(0), saveToken(-1), saveToken(-3600)])
  expect(await sweepTokens(stores.db, now)).toBe(3)
  expect(await sweepTokens(stores.db, now)).toBe(0)
  expect(await readStoredHashes()).toEqual([validHash])
})

test('deletes at most 1,000 tokens per sweep, even in two concurrent sweeps', async () => {
  // 1,500 expired tokens are more than one sweep deletes. The column `generation` holds the credential version.
  await stores.db.query(
    `insert into tokens (token_hash, client_id, generation, scope, audience, issued_at, expires_at)
     select sha256(number::text::bytea), $1, 1, '', '', $2, $2 from generate_series(1, 1500) number`,
    [clientId, now],
  )
  const deletedCounts = await Promise.all([sweepTokens(stores.db, now), sweepTokens(stores.db, now)])
  expect(Math.max(...deletedCounts)).toBeLessThanOrEqual(1_000)
  // Sweeps until nothing is left to delete.
  while ((await sweepTokens(stores.db, now)) > 0);
  // Only the valid token of the first test remains.
  expect(await readStoredHashes()).toHaveLength(1)
})

test('a started sweep continues after a database outage, and stops when it is disposed', async () => {
  const logLines: string[] = []
  const sweptNames: string[] = []
  const events = createEvents()
  events.on('swept', ({ sweep }) => sweptNames.push(sweep))
  const log = createLog({ service: 'test', write: (line) => void logLines.push(line) })
  let isUnavailable = true
  const db = {
    query: (...args: Parameters<typeof stores.db.query>) =>
      isUnavailable ? Promise.reject(new Error('no database')) : stores.db.query(...args),
  } as typeof stores.db
  const deps = { db, now: () => now, log, events, everyMs: 5 }
  {
    await using _sweeping = startSweep('expired tokens', sweepTokens, deps)
    await saveToken(0)
    await expect.poll(() => logLines.join()).toContain('expired tokens were not swept')
    expect(sweptNames, 'the event at the start').toEqual(['expired tokens'])
    isUnavailable = false
    // Only the valid token of the first test remains.
    await expect.poll(readStoredHashes).toHaveLength(1)
    await expect.poll(() => sweptNames.length).toBeGreaterThan(1)
  }
  await saveToken(0)
  // Another job with the same interval sweeps five times. By then, the first job would have deleted the token if it still ran.
  {
    await using _otherSweeping = startSweep('nothing', async () => 0, deps)
    // One event is that of the start.
    await expect.poll(() => sweptNames.filter((name) => name === 'nothing').length).toBeGreaterThan(5)
  }
  // The token that was just stored, and the valid token of the first test.
  expect(await readStoredHashes()).toHaveLength(2)
})

test('F-17 sweeps nothing while the clock is not synchronised', async () => {
  const logLines: string[] = []
  const log = createLog({ service: 'test', write: (line) => void logLines.push(line) })
  const sweptNames: string[] = []
  const events = createEvents()
  events.on('swept', ({ sweep }) => sweptNames.push(sweep))
  /** The number of hours that the clock of this process seems to be ahead of the database clock. */
  let clockLeadHours = 1
  const db = {
    query: (text: string, values?: readonly unknown[]) =>
      // `isClockSynchronised` reads the database clock with this function. It compares it with `Date.now`, not with `now`.
      text.includes('clock_timestamp')
        ? stores.db.query(`select clock_timestamp() - $1 * interval '1 hour' as at`, [clockLeadHours])
        : stores.db.query(text, values),
  } as typeof stores.db
  await using _sweeping = startSweep('expired tokens', sweepTokens, {
    db,
    now: () => now,
    log,
    events,
    everyMs: 5,
  })
  await saveToken(0)
  const hashesBefore = await readStoredHashes()
  await expect
    .poll(() => logLines.join())
    .toContain('expired tokens were not swept: the clock is not synchronised')
  expect(sweptNames).toEqual(['expired tokens'])
  expect(await readStoredHashes()).toEqual(hashesBefore)
  clockLeadHours = 0
  await expect.poll(readStoredHashes).toHaveLength(1)
})

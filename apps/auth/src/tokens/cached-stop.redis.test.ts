import { type AgentId, RULES } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { openScratchRedis, type ScratchRedis } from '../../test/open-scratch-redis.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { revokeInEmergency, type UnconfirmedRevocation } from './emergency-revocation.ts'
import { createRedisTokenStore } from './redis-token-store.ts'
import { generateToken } from './token-store.contract.ts'
import type { TokenStore } from './token-store.ts'

/*
 * Tests how the token store in Redis caches the cutoff of emergency revocations, which PostgreSQL decides. The cached key has an
 * older name, `stop`. Its value is `<epoch> <milliseconds>`, or a lease while a store reads the cutoff from the token authority.
 */

const ALL_TOKENS = { kind: 'all-tokens' } as const
const actor = { user: 'rosa', host: 'desk' }

let stores: TestStores
let scratch: ScratchRedis
let clientId: AgentId
beforeAll(async () => {
  stores = await openTestStores()
  scratch = await openScratchRedis()
})
beforeEach(async () => {
  await scratch.loseKeys()
  const record = createExampleAgent()
  await stores.agents.add(record)
  clientId = record.agent.id
})
afterAll(async () => {
  await scratch[Symbol.asyncDispose]()
  await stores[Symbol.asyncDispose]()
})

const now = () => new Date()
const createStore = (readCutoff = stores.createTokenAuthority(now).readCutoff) =>
  createRedisTokenStore(scratch.redis, {
    prefix: scratch.prefix,
    authority: { ...stores.createTokenAuthority(now), readCutoff },
    now,
  })
/** Saves a token. Without `epoch`, the store assigns the epoch of the cutoff. */
async function issue(epoch?: number, store = createStore()) {
  const hash = sha256(generateToken())
  const issuedAt = new Date()
  const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
  const token = { clientId, credentialVersion: 1, scope: '', audience: '', issuedAt, expiresAt }
  await store.save(hash, { ...token, ...(epoch !== undefined && { epoch }) })
  return hash
}
const isActive = async (hash: Buffer) => (await createStore().find(hash)) !== undefined
const revokeAllTokens = (tokens: Partial<TokenStore> = {}) =>
  revokeInEmergency(
    {
      revocationPublisher: noOpRevocationPublisher,
      emergencyRevocations: stores.emergencyRevocations,
      tokens: { ...createStore(), ...tokens },
      actor,
    },
    ALL_TOKENS,
    {
      reason: 'a test',
    },
  )
const readCachedCutoff = () => scratch.redis.get(`${scratch.prefix}stop`)
const failWithTimeout = () => Promise.reject(new Error('Command timed out'))

test('reads the cutoff from the token authority once, then caches it', async () => {
  let readCount = 0
  const countingStore = createStore(() => {
    readCount += 1
    return stores.createTokenAuthority(now).readCutoff()
  })
  const hash = await issue(0)
  await scratch.loseKeys('stop')
  await countingStore.find(hash)
  await countingStore.find(hash)
  await countingStore.readCutoff()
  expect(readCount).toBe(1)
})

test('reads a lost cutoff from the token authority again, and finds no revoked token', async () => {
  const hash = await issue()
  await revokeAllTokens()
  await scratch.loseKeys('stop')
  expect([await isActive(hash), await isActive(await issue())]).toEqual([false, true])
})

test('find and readCutoff throw when the token authority is unavailable', async () => {
  const hash = await issue()
  await scratch.loseKeys('stop')
  const storeWithoutAuthority = createStore(() => Promise.reject(new Error('no database')))
  await expect(storeWithoutAuthority.find(hash)).rejects.toThrow('no database')
  await expect(storeWithoutAuthority.readCutoff()).rejects.toThrow('no database')
})

test('a slow read from the token authority does not undo a revocation', async () => {
  const hash = await issue()
  await scratch.loseKeys('stop')
  const authorityResponse = Promise.withResolvers<void>()
  const slowStore = createStore(async () => {
    const cutoff = await stores.createTokenAuthority(now).readCutoff()
    await authorityResponse.promise
    return cutoff
  })
  // The lease shows that the read has begun.
  const finding = slowStore.find(hash)
  await expect.poll(readCachedCutoff).toMatch(/^lease /)
  await revokeAllTokens()
  const { epoch } = await stores.createTokenAuthority(now).readCutoff()
  authorityResponse.resolve()
  await finding
  expect(await readCachedCutoff()).toBe(`${epoch} 0`)
  expect(await isActive(hash)).toBe(false)
})

test('revokes a token whose epoch was read from the token authority before the revocation', async () => {
  const authorityResponse = Promise.withResolvers<void>()
  const slowStore = createStore(async () => {
    const cutoff = await stores.createTokenAuthority(now).readCutoff()
    await authorityResponse.promise
    return cutoff
  })
  const issuing = issue(undefined, slowStore)
  await expect.poll(readCachedCutoff).toMatch(/^lease /)
  await revokeAllTokens()
  authorityResponse.resolve()
  expect(await isActive(await issuing)).toBe(false)
  expect(await isActive(await issue())).toBe(true)
})

test('a revocation raises the cached cutoff again after its commit if Redis has lost it', async () => {
  const hash = await issue()
  let raiseCount = 0
  await revokeAllTokens({
    // A revocation calls this once before its commit, and again after it.
    async raiseCutoff(cutoff) {
      await createStore().raiseCutoff(cutoff)
      raiseCount += 1
      if (raiseCount > 1) return
      await scratch.loseKeys('stop')
      // The change is not committed yet, so the token authority still returns the old cutoff.
      expect(await isActive(hash)).toBe(true)
    },
  })
  expect([raiseCount, await isActive(hash)]).toEqual([2, false])
})

test('raiseCutoff never lowers the epoch or the time of the cached cutoff', async () => {
  const earlierTime = new Date(1_000)
  const laterTime = new Date(1_790_000_000_000)
  await createStore().raiseCutoff({ epoch: 5, issuedBefore: earlierTime })
  await createStore().raiseCutoff({ epoch: 3, issuedBefore: laterTime })
  await createStore().raiseCutoff({ epoch: 4, issuedBefore: undefined })
  expect(await readCachedCutoff()).toBe('5 1790000000000')
  expect(await createStore().readCutoff()).toEqual({ epoch: 5, issuedBefore: laterTime })
})

test('a repeated revocation also revokes a token that was issued after the first attempt failed before its commit', async () => {
  const earlierToken = await issue()
  let raiseCount = 0
  const raiseCutoff: TokenStore['raiseCutoff'] = async (cutoff) => {
    await createStore().raiseCutoff(cutoff)
    raiseCount += 1
    throw new Error('Command timed out')
  }
  await expect(revokeAllTokens({ raiseCutoff })).rejects.toMatchObject({
    progress: 'not-committed',
  } satisfies Partial<UnconfirmedRevocation>)
  expect(raiseCount).toBe(1)
  const laterToken = await issue()
  expect([await isActive(earlierToken), await isActive(laterToken)]).toEqual([false, true])
  // The token authority has not committed the revocation, so without the cached cutoff nothing is revoked.
  await scratch.loseKeys('stop')
  expect([await isActive(earlierToken), await isActive(laterToken)]).toEqual([true, true])
  await revokeAllTokens()
  expect([await isActive(earlierToken), await isActive(laterToken)]).toEqual([false, false])
})

test('a revocation reports the progress "committed" when Redis fails after the commit, and succeeds when repeated', async () => {
  const hash = await issue()
  const rowCount = (await stores.emergencyRevocations.readAudit()).length
  let raiseCount = 0
  const raiseCutoff: TokenStore['raiseCutoff'] = (cutoff) => {
    raiseCount += 1
    return raiseCount === 1 ? createStore().raiseCutoff(cutoff) : failWithTimeout()
  }
  await expect(revokeAllTokens({ raiseCutoff })).rejects.toMatchObject({ progress: 'committed' })
  expect(await stores.emergencyRevocations.readAudit()).toHaveLength(rowCount + 1)
  await revokeAllTokens()
  expect(await isActive(hash)).toBe(false)
})

test('caches the cutoff for longer than the lifetime of any token, by at most two hours', async () => {
  await revokeAllTokens()
  const seconds = await scratch.redis.ttl(`${scratch.prefix}stop`)
  expect(seconds).toBeGreaterThan(RULES.appTokenMs / 1000)
  expect(seconds).toBeLessThanOrEqual(2 * 3_600 + RULES.appTokenMs / 1000)
})

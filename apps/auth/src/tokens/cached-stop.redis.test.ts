import { type AgentId, RULES } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { type Authority, openAuthority } from '../../test/open-authority.ts'
import { openScratchRedis, type ScratchRedis } from '../../test/open-scratch-redis.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { revokeInEmergency, type UnconfirmedRevocation } from './emergency-revocation.ts'
import { createRedisTokenStore } from './redis-token-store.ts'
import { generateToken } from './token-store.contract.ts'
import type { TokenStore } from './token-store.ts'

const ALL_TOKENS = { kind: 'all-tokens' } as const
const by = { user: 'rosa', host: 'desk' }

let authority: Authority
let scratch: ScratchRedis
let clientId: AgentId
beforeAll(async () => {
  authority = await openAuthority()
  scratch = await openScratchRedis()
})
beforeEach(async () => {
  await scratch.lose()
  const record = exampleAgent()
  await authority.agents.add(record)
  clientId = record.agent.id
})
afterAll(async () => {
  await scratch[Symbol.asyncDispose]()
  await authority[Symbol.asyncDispose]()
})

const now = () => new Date()
const openStore = (readCutoff = authority.createTokenAuthority(now).readCutoff) =>
  createRedisTokenStore(scratch.redis, {
    prefix: scratch.prefix,
    authority: { ...authority.createTokenAuthority(now), readCutoff },
    now,
  })
async function issue(epoch?: number, store = openStore()) {
  const hash = sha256(generateToken())
  const [issuedAt, expiresAt] = [new Date(), new Date(Date.now() + 3_600_000)]
  const token = { clientId, credentialVersion: 1, scope: '', audience: '', issuedAt, expiresAt }
  await store.save(hash, { ...token, ...(epoch !== undefined && { epoch }) })
  return hash
}
const isActive = async (hash: Buffer) => (await openStore().find(hash)) !== undefined
const revokeAllTokens = (tokens: Partial<TokenStore> = {}) =>
  revokeInEmergency(
    {
      revocationPublisher: noOpRevocationPublisher,
      emergencyRevocations: authority.emergencyRevocations,
      tokens: { ...openStore(), ...tokens },
      by,
    },
    ALL_TOKENS,
    {
      reason: 'a test',
    },
  )
const readCachedCutoff = () => scratch.redis.get(`${scratch.prefix}stop`)
const failWithTimeout = () => Promise.reject(new Error('Command timed out'))

test('reads the cutoff from the authority once, then caches it', async () => {
  let readCount = 0
  const countingStore = openStore(() => {
    readCount += 1
    return authority.createTokenAuthority(now).readCutoff()
  })
  const hash = await issue(0)
  await scratch.lose('stop')
  await countingStore.find(hash)
  await countingStore.find(hash)
  await countingStore.readCutoff()
  expect(readCount).toBe(1)
})

test('reads a lost cutoff from the authority again, and finds no revoked token', async () => {
  const hash = await issue()
  await revokeAllTokens()
  await scratch.lose('stop')
  expect([await isActive(hash), await isActive(await issue())]).toEqual([false, true])
})

test('throws from find and readCutoff when the authority is unavailable', async () => {
  const hash = await issue()
  await scratch.lose('stop')
  const storeWithoutAuthority = openStore(() => Promise.reject(new Error('no database')))
  await expect(storeWithoutAuthority.find(hash)).rejects.toThrow('no database')
  await expect(storeWithoutAuthority.readCutoff()).rejects.toThrow('no database')
})

test('a slow read from the authority does not undo a revocation', async () => {
  const hash = await issue()
  await scratch.lose('stop')
  const authorityResponse = Promise.withResolvers<void>()
  const slowStore = openStore(async () => {
    const cutoff = await authority.createTokenAuthority(now).readCutoff()
    await authorityResponse.promise
    return cutoff
  })
  const finding = slowStore.find(hash)
  await expect.poll(readCachedCutoff).toMatch(/^lease /)
  await revokeAllTokens()
  const { epoch } = await authority.createTokenAuthority(now).readCutoff()
  authorityResponse.resolve()
  await finding
  expect(await readCachedCutoff()).toBe(`${epoch} 0`)
  expect(await isActive(hash)).toBe(false)
})

test('revokes a token whose epoch was read from the authority before the revocation', async () => {
  const authorityResponse = Promise.withResolvers<void>()
  const slowStore = openStore(async () => {
    const cutoff = await authority.createTokenAuthority(now).readCutoff()
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

test('raises the cached cutoff again after the commit if Redis has lost it', async () => {
  const hash = await issue()
  let raiseCount = 0
  await revokeAllTokens({
    async raiseCutoff(cutoff) {
      await openStore().raiseCutoff(cutoff)
      raiseCount += 1
      if (raiseCount > 1) return
      await scratch.lose('stop')
      // The change is not committed yet, so the authority still returns the old cutoff.
      expect(await isActive(hash)).toBe(true)
    },
  })
  expect([raiseCount, await isActive(hash)]).toEqual([2, false])
})

test('does not lower the epoch or the time of the cached cutoff', async () => {
  const [earlierTime, laterTime] = [new Date(1_000), new Date(1_790_000_000_000)]
  await openStore().raiseCutoff({ epoch: 5, issuedBefore: earlierTime })
  await openStore().raiseCutoff({ epoch: 3, issuedBefore: laterTime })
  await openStore().raiseCutoff({ epoch: 4, issuedBefore: undefined })
  expect(await readCachedCutoff()).toBe('5 1790000000000')
  expect(await openStore().readCutoff()).toEqual({ epoch: 5, issuedBefore: laterTime })
})

test('a repeated revocation also revokes a token that was issued after the first attempt failed before its commit', async () => {
  const earlierToken = await issue()
  let raiseCount = 0
  const raiseCutoff: TokenStore['raiseCutoff'] = async (cutoff) => {
    await openStore().raiseCutoff(cutoff)
    raiseCount += 1
    throw new Error('Command timed out')
  }
  await expect(revokeAllTokens({ raiseCutoff })).rejects.toMatchObject({
    progress: 'unchanged',
  } satisfies Partial<UnconfirmedRevocation>)
  expect(raiseCount).toBe(1)
  const laterToken = await issue()
  expect([await isActive(earlierToken), await isActive(laterToken)]).toEqual([false, true])
  // The authority has not committed the revocation, so without the cached cutoff nothing is revoked.
  await scratch.lose('stop')
  expect([await isActive(earlierToken), await isActive(laterToken)]).toEqual([true, true])
  await revokeAllTokens()
  expect([await isActive(earlierToken), await isActive(laterToken)]).toEqual([false, false])
})

test('reports the progress "written" when Redis fails after the commit, and succeeds when repeated', async () => {
  const hash = await issue()
  const rowCount = (await authority.emergencyRevocations.readAudit()).length
  let raiseCount = 0
  const raiseCutoff: TokenStore['raiseCutoff'] = (cutoff) => {
    raiseCount += 1
    return raiseCount === 1 ? openStore().raiseCutoff(cutoff) : failWithTimeout()
  }
  await expect(revokeAllTokens({ raiseCutoff })).rejects.toMatchObject({ progress: 'written' })
  expect(await authority.emergencyRevocations.readAudit()).toHaveLength(rowCount + 1)
  await revokeAllTokens()
  expect(await isActive(hash)).toBe(false)
})

test('caches the cutoff for longer than the lifetime of any token, by at most two hours', async () => {
  await revokeAllTokens()
  const seconds = await scratch.redis.ttl(`${scratch.prefix}stop`)
  expect(seconds).toBeGreaterThan(RULES.appTokenMs / 1000)
  expect(seconds).toBeLessThanOrEqual(2 * 3_600 + RULES.appTokenMs / 1000)
})

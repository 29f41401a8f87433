import { type AgentId, RULES } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { type Authority, openAuthority } from '../../test/open-authority.ts'
import { openScratchRedis, type ScratchRedis } from '../../test/open-scratch-redis.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { revokeInEmergency, type UnconfirmedRevocation } from './emergency-revocation.ts'
import { createRedisTokenStore } from './redis-token-store.ts'
import { newToken } from './token-store.contract.ts'
import type { TokenStore } from './token-store.ts'

const ALL = { kind: 'all-tokens' } as const
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
const storeWithAuthority = (readCutoff = authority.tokenAuthority(now).readCutoff) =>
  createRedisTokenStore(scratch.redis, {
    prefix: scratch.prefix,
    authority: { ...authority.tokenAuthority(now), readCutoff },
    now,
  })
async function issue(epoch?: number, store = storeWithAuthority()) {
  const hash = sha256(newToken())
  const [issuedAt, expiresAt] = [new Date(), new Date(Date.now() + 3_600_000)]
  const token = { clientId, credentialVersion: 1, scope: '', audience: '', issuedAt, expiresAt }
  await store.save(hash, { ...token, ...(epoch !== undefined && { epoch }) })
  return hash
}
const isActive = async (hash: Buffer) => (await storeWithAuthority().find(hash)) !== undefined
const stop = (tokens: Partial<TokenStore> = {}) =>
  revokeInEmergency(
    {
      revocationPublisher: noOpRevocationPublisher,
      emergencyRevocations: authority.stops,
      tokens: { ...storeWithAuthority(), ...tokens },
      by,
    },
    ALL,
    {
      reason: 'a test',
    },
  )
const cached = () => scratch.redis.get(`${scratch.prefix}stop`)
const failing = () => Promise.reject(new Error('Command timed out'))

test('reads the stop from the authority once, then caches it', async () => {
  let reads = 0
  const counting = storeWithAuthority(() => {
    reads += 1
    return authority.tokenAuthority(now).readCutoff()
  })
  const hash = await issue(0)
  await scratch.lose('stop')
  await counting.find(hash)
  await counting.find(hash)
  await counting.readCutoff()
  expect(reads).toBe(1)
})

test('reads a lost stop again, and accepts no revoked token', async () => {
  const hash = await issue()
  await stop()
  await scratch.lose('stop')
  expect([await isActive(hash), await isActive(await issue())]).toEqual([false, true])
})

test('throws from find and save when the authority is unavailable', async () => {
  const hash = await issue()
  await scratch.lose('stop')
  const cut = storeWithAuthority(() => Promise.reject(new Error('no database')))
  await expect(cut.find(hash)).rejects.toThrow('no database')
  await expect(cut.readCutoff()).rejects.toThrow('no database')
})

test('a late read from the authority does not undo a stop', async () => {
  const hash = await issue()
  await scratch.lose('stop')
  const release = Promise.withResolvers<void>()
  const late = storeWithAuthority(async () => {
    const known = await authority.tokenAuthority(now).readCutoff()
    await release.promise
    return known
  })
  const finding = late.find(hash)
  await expect.poll(cached).toMatch(/^lease /)
  await stop()
  const { epoch } = await authority.tokenAuthority(now).readCutoff()
  release.resolve()
  await finding
  expect(await cached()).toBe(`${epoch} 0`)
  expect(await isActive(hash)).toBe(false)
})

test('revokes a token saved with no cached stop, when everything is stopped before the authority responds', async () => {
  const release = Promise.withResolvers<void>()
  const late = storeWithAuthority(async () => {
    const known = await authority.tokenAuthority(now).readCutoff()
    await release.promise
    return known
  })
  const issuing = issue(undefined, late)
  await expect.poll(cached).toMatch(/^lease /)
  await stop()
  release.resolve()
  expect(await isActive(await issuing)).toBe(false)
  expect(await isActive(await issue())).toBe(true)
})

test('raises the cached stop again when it was lost during a stop', async () => {
  const hash = await issue()
  let raised = 0
  await stop({
    async raiseCutoff(what) {
      await storeWithAuthority().raiseCutoff(what)
      raised += 1
      if (raised > 1) return
      await scratch.lose('stop')
      // The change is not committed yet, so the authority still gives the old number.
      expect(await isActive(hash)).toBe(true)
    },
  })
  expect([raised, await isActive(hash)]).toEqual([2, false])
})

test('neither part of the cached stop ever decreases', async () => {
  const [early, later] = [new Date(1_000), new Date(1_790_000_000_000)]
  await storeWithAuthority().raiseCutoff({ epoch: 5, issuedBefore: early })
  await storeWithAuthority().raiseCutoff({ epoch: 3, issuedBefore: later })
  await storeWithAuthority().raiseCutoff({ epoch: 4, issuedBefore: undefined })
  expect(await cached()).toBe('5 1790000000000')
  expect(await storeWithAuthority().readCutoff()).toEqual({ epoch: 5, issuedBefore: later })
})

test('repeating a stop that failed after Redis applied it also revokes tokens issued in between', async () => {
  const before = await issue()
  let raised = 0
  const raiseCutoff: TokenStore['raiseCutoff'] = async (what) => {
    await storeWithAuthority().raiseCutoff(what)
    raised += 1
    throw new Error('Command timed out')
  }
  await expect(stop({ raiseCutoff })).rejects.toMatchObject({
    progress: 'unchanged',
  } satisfies Partial<UnconfirmedRevocation>)
  expect(raised).toBe(1)
  const between = await issue()
  expect([await isActive(before), await isActive(between)]).toEqual([false, true])
  // The authority has not stored it, so if the cached stop is lost as well, nothing was stopped.
  await scratch.lose('stop')
  expect([await isActive(before), await isActive(between)]).toEqual([true, true])
  await stop()
  expect([await isActive(before), await isActive(between)]).toEqual([false, false])
})

test('a stop that fails at its last step reports that it is stored, and can be repeated', async () => {
  const hash = await issue()
  const rows = (await authority.stops.readAudit()).length
  let raised = 0
  const raiseCutoff: TokenStore['raiseCutoff'] = (what) =>
    (raised += 1) === 1 ? storeWithAuthority().raiseCutoff(what) : failing()
  await expect(stop({ raiseCutoff })).rejects.toMatchObject({ progress: 'written' })
  expect(await authority.stops.readAudit()).toHaveLength(rows + 1)
  await stop()
  expect(await isActive(hash)).toBe(false)
})

test('the cached stop has a TTL', async () => {
  await stop()
  const seconds = await scratch.redis.ttl(`${scratch.prefix}stop`)
  expect(seconds).toBeGreaterThan(RULES.appTokenMs / 1000)
  expect(seconds).toBeLessThanOrEqual(2 * 3_600 + RULES.appTokenMs / 1000)
})

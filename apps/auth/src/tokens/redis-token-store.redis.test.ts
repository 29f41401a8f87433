import { type AgentId, RULES } from '@plainpath/domain'
import { startRedis } from '@plainpath/http/testing/start-redis'
import { sha256 } from '@plainpath/sealing'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { type Authority, openAuthority } from '../../test/open-authority.ts'
import { openScratchRedis, type ScratchRedis } from '../../test/open-scratch-redis.ts'
import { deactivateAgent } from '../agents/deactivate-agent.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { describeTokenStop } from './emergency-revocation.contract.ts'
import { createRedisTokenStore } from './redis-token-store.ts'
import { describeTokenStore, newToken } from './token-store.contract.ts'
import type { RevokedSubject, TokenAuthority } from './token-store.ts'
import { describeTokenStoreModel } from './token-store-model.contract.ts'
import { describeTokensOfClaims } from './token-store-verifications.contract.ts'

async function open(authority: Authority, now: () => Date) {
  const scratch = await openScratchRedis()
  return {
    tokens: createRedisTokenStore(scratch.redis, {
      prefix: scratch.prefix,
      authority: authority.tokenAuthority(now),
      now,
    }),
    dump: scratch.dump,
    async lose(what: 'cached copies' | 'everything') {
      await scratch.lose(what === 'cached copies' ? 'generation:*' : '*')
      await scratch.lose('stop')
    },
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  }
}

describeTokenStore('Redis', open)
describeTokensOfClaims('Redis', open)
describeTokenStop('Redis', open)
describeTokenStoreModel('Redis', open)

describe('the generations beside the tokens in Redis', () => {
  let authority: Authority
  let scratch: ScratchRedis
  beforeAll(async () => {
    authority = await openAuthority()
    scratch = await openScratchRedis()
  })
  afterAll(async () => {
    await scratch[Symbol.asyncDispose]()
    await authority[Symbol.asyncDispose]()
  })

  const now = () => new Date()
  const findGeneration = (id: AgentId) => authority.tokenAuthority(now).findCredentialVersion(id)
  const storeWithAuthority = (read: TokenAuthority['findCredentialVersion']) =>
    createRedisTokenStore(scratch.redis, {
      prefix: scratch.prefix,
      authority: { ...authority.tokenAuthority(now), findCredentialVersion: read },
      now,
    })
  const store = () => storeWithAuthority(findGeneration)
  async function register() {
    const record = exampleAgent()
    await authority.agents.add(record)
    return record.agent.id
  }
  async function issue(clientId: AgentId, credentialVersion = 1, epoch = 0) {
    const hash = sha256(newToken())
    const [issuedAt, expiresAt] = [new Date(), new Date(Date.now() + 3_600_000)]
    await store().save(hash, {
      clientId,
      credentialVersion,
      epoch,
      scope: '',
      audience: '',
      issuedAt,
      expiresAt,
    })
    return hash
  }
  const isActive = async (hash: Buffer) => (await store().find(hash)) !== undefined
  const end = (
    id: AgentId,
    status: 'disabled' | 'deleted',
    revokeTokensOf: (subject: RevokedSubject) => Promise<void> = store().revokeTokensOf,
  ) =>
    deactivateAgent(
      {
        agents: authority.agents,
        tokens: { revokeTokensOf },
        revocationPublisher: noOpRevocationPublisher,
        agentCache: { invalidate: () => undefined },
      },
      id,
      status,
    )
  const cached = (id: string) => scratch.redis.get(`${scratch.prefix}generation:${id}`)

  test('are read from the authority once, then cached', async () => {
    const read: string[] = []
    const counting = storeWithAuthority((id) => {
      read.push(id)
      return findGeneration(id)
    })
    const id = await register()
    const hash = await issue(id)
    expect([await counting.find(hash), await counting.find(hash)]).not.toContain(undefined)
    expect(read).toEqual([id])
  })

  test('are read again when they were lost, and then reject revoked tokens', async () => {
    const [ended, other] = [await register(), await register()]
    const others = await issue(other)
    await end(ended, 'deleted')
    await scratch.lose('generation:*')
    expect([await isActive(await issue(ended)), await isActive(others)]).toEqual([false, true])
  })

  test('are read again when a failover has brought back an older one than that of a token', async () => {
    const { id } = exampleAgent().agent
    const renewed = storeWithAuthority(async () => 2)
    const [revoked, hash] = [await issue(id, 1), await issue(id, 2)]
    await scratch.redis.set(`${scratch.prefix}generation:${id}`, '1')
    expect(await renewed.find(hash)).toMatchObject({ clientId: id, credentialVersion: 2 })
    expect(await cached(id)).toBe('2')
    expect(await renewed.find(revoked)).toBeUndefined()
  })

  test('throws from find when the authority is unavailable', async () => {
    const failing = storeWithAuthority(() => Promise.reject(new Error('no database')))
    const hash = await issue(await register())
    await expect(failing.find(hash)).rejects.toThrow('no database')
    expect(await isActive(hash)).toBe(true)
  })

  test('never decrease', async () => {
    const id = await register()
    await store().revokeTokensOf({ kind: 'client', id, credentialVersion: 5 })
    await store().revokeTokensOf({ kind: 'client', id, credentialVersion: 3 })
    expect(await cached(id)).toBe('5')
  })

  test('a late read from the authority does not undo a revocation', async () => {
    const id = await register()
    const hash = await issue(id)
    const release = Promise.withResolvers<void>()
    const late = storeWithAuthority(async (read) => {
      const credentialVersion = await findGeneration(read)
      await release.promise
      return credentialVersion
    })
    const finding = late.find(hash)
    await expect.poll(() => cached(id)).toMatch(/^lease /)
    await end(id, 'deleted')
    release.resolve()
    await finding
    expect(await cached(id)).toBe('2')
    expect([await isActive(hash), await isActive(await issue(id))]).toEqual([false, false])
  })

  test('nor when all data was lost after the revocation', async () => {
    const id = await register()
    const hash = await issue(id)
    const release = Promise.withResolvers<void>()
    const late = storeWithAuthority(async (read) => {
      const credentialVersion = await findGeneration(read)
      await release.promise
      return credentialVersion
    })
    const finding = late.find(hash)
    await expect.poll(() => cached(id)).toMatch(/^lease /)
    await end(id, 'deleted')
    await scratch.lose()
    release.resolve()
    await finding
    expect(await cached(id)).toBeNull()
    expect(await isActive(await issue(id))).toBe(false)
  })

  test('are raised again when they were lost while a client was being ended', async () => {
    const id = await register()
    const raised: number[] = []
    await end(id, 'deleted', async (subject) => {
      await store().revokeTokensOf(subject)
      if (subject.kind === 'client') raised.push(subject.credentialVersion)
      if (raised.length > 1) return
      await scratch.lose('generation:*')
      // The change is not committed yet, so the authority still gives the old number.
      expect(await isActive(await issue(id))).toBe(true)
    })
    expect(raised).toEqual([2, 2])
    expect(await isActive(await issue(id))).toBe(false)
  })

  test('a lease that was never filled blocks nothing', async () => {
    const id = await register()
    const hash = await issue(id)
    await scratch.redis.set(`${scratch.prefix}generation:${id}`, 'lease of a process that died', 'EX', 10)
    expect(await isActive(hash)).toBe(true)
    await end(id, 'disabled')
    expect(await cached(id)).toBe('2')
  })

  test('every key has a TTL, that of a token its own expiry', async () => {
    const id = await register()
    const hash = await issue(id)
    await isActive(hash)
    await storeWithAuthority(async () => undefined).find(await issue(exampleAgent().agent.id))
    const keys = await scratch.keys()
    const seconds = await Promise.all(keys.map((key) => scratch.redis.ttl(key)))
    expect(keys.length).toBeGreaterThan(2)
    expect(Math.min(...seconds)).toBeGreaterThan(0)
    expect(Math.max(...seconds)).toBeLessThanOrEqual(2 * 3600 + RULES.appTokenMs / 1000)
    expect(
      await scratch.redis.ttl(`${scratch.prefix}token:${hash.toString('base64url')}`),
    ).toBeLessThanOrEqual(3600)
  })
})

test('finds no token saved under another replication ID, such as before a failover', async () => {
  await using server = await startRedis()
  const redis = new Redis(server.url)
  const authority = {
    findCredentialVersion: async () => 1,
    isVerificationLive: async () => false,
    readCutoff: async () => ({ epoch: 0, issuedBefore: undefined }),
  }
  const store = createRedisTokenStore(redis, { prefix: 'auth:', authority, now: () => new Date() })
  const hash = sha256(newToken())
  const [issuedAt, expiresAt] = [new Date(), new Date(Date.now() + 3_600_000)]
  const token = {
    clientId: exampleAgent().agent.id,
    credentialVersion: 1,
    epoch: 0,
    scope: '',
    audience: '',
    issuedAt,
    expiresAt,
  }
  await store.save(hash, token)
  expect(await store.find(hash)).toEqual(token)
  await redis.replicaof('127.0.0.1', 9)
  await redis.replicaof('NO', 'ONE')
  expect(await redis.dbsize()).toBeGreaterThan(0)
  expect(await store.find(hash)).toBeUndefined()
  await store.save(hash, token)
  expect(await store.find(hash)).toEqual(token)
  redis.disconnect()
})

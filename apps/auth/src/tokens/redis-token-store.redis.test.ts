import { type AgentId, RegistrationId, RULES } from '@plainpath/domain'
import { startRedis } from '@plainpath/http/testing/start-redis'
import { sha256 } from '@plainpath/sealing'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { openScratchRedis, type ScratchRedis } from '../../test/open-scratch-redis.ts'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { deactivateAgent } from '../agents/deactivate-agent.ts'
import { noOpRevocationPublisher } from '../revocation/revocation-publisher.ts'
import { describeEmergencyRevocation } from './emergency-revocation.contract.ts'
import { createRedisTokenStore } from './redis-token-store.ts'
import { describeTokenStore, generateToken } from './token-store.contract.ts'
import { CANARY_AUDIENCE, type RevokedSubject, type TokenAuthority } from './token-store.ts'
import { describeTokenStoreModel } from './token-store-model.contract.ts'
import { describeVerifiedTokens } from './token-store-verifications.contract.ts'

async function open(stores: TestStores, now: () => Date) {
  const scratch = await openScratchRedis()
  return {
    tokens: createRedisTokenStore(scratch.redis, {
      prefix: scratch.prefix,
      authority: stores.createTokenAuthority(now),
      now,
    }),
    dump: scratch.dump,
    /** Deletes keys, which have older names: `generation` for credential versions and verifications, `stop` for the cutoff. */
    async lose(lostData: 'cached copies' | 'everything') {
      await scratch.loseKeys(lostData === 'cached copies' ? 'generation:*' : '*')
      await scratch.loseKeys('stop')
    },
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  }
}

describeTokenStore('Redis', open)
describeVerifiedTokens('Redis', open)
describeEmergencyRevocation('Redis', open)
describeTokenStoreModel('Redis', open)

describe('the credential versions that Redis caches', () => {
  let stores: TestStores
  let scratch: ScratchRedis
  beforeAll(async () => {
    stores = await openTestStores()
    scratch = await openScratchRedis()
  })
  afterAll(async () => {
    await scratch[Symbol.asyncDispose]()
    await stores[Symbol.asyncDispose]()
  })

  const now = () => new Date()
  const findCredentialVersion = (id: AgentId) => stores.createTokenAuthority(now).findCredentialVersion(id)
  const createStoreWithAuthority = (findVersion: TokenAuthority['findCredentialVersion']) =>
    createRedisTokenStore(scratch.redis, {
      prefix: scratch.prefix,
      authority: { ...stores.createTokenAuthority(now), findCredentialVersion: findVersion },
      now,
    })
  const createStore = () => createStoreWithAuthority(findCredentialVersion)
  async function register() {
    const record = createExampleAgent()
    await stores.agents.add(record)
    return record.agent.id
  }
  async function issue(clientId: AgentId, credentialVersion = 1, epoch = 0) {
    const hash = sha256(generateToken())
    const issuedAt = new Date()
    const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
    await createStore().save(hash, {
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
  const isActive = async (hash: Buffer) => (await createStore().find(hash)) !== undefined
  const deactivate = (
    id: AgentId,
    status: 'disabled' | 'deleted',
    revokeTokensOf: (subject: RevokedSubject) => Promise<void> = createStore().revokeTokensOf,
  ) =>
    deactivateAgent(
      {
        agents: stores.agents,
        tokens: { revokeTokensOf },
        revocationPublisher: noOpRevocationPublisher,
        agentCache: { invalidate: () => undefined },
      },
      { id, credentialVersion: undefined },
      status,
    )
  const readCachedVersion = (id: string) => scratch.redis.get(`${scratch.prefix}generation:${id}`)

  test('are read from the token authority once, then cached', async () => {
    const readIds: string[] = []
    const recordingStore = createStoreWithAuthority((id) => {
      readIds.push(id)
      return findCredentialVersion(id)
    })
    const id = await register()
    const hash = await issue(id)
    expect([await recordingStore.find(hash), await recordingStore.find(hash)]).not.toContain(undefined)
    expect(readIds).toEqual([id])
  })

  test('are read from the token authority again after they were lost', async () => {
    const [deletedClient, otherClient] = [await register(), await register()]
    const otherToken = await issue(otherClient)
    await deactivate(deletedClient, 'deleted')
    await scratch.loseKeys('generation:*')
    expect([await isActive(await issue(deletedClient)), await isActive(otherToken)]).toEqual([false, true])
  })

  test('are read from the token authority again if a token has a higher one than the cache', async () => {
    const { id } = createExampleAgent().agent
    const storeWithVersion2 = createStoreWithAuthority(async () => 2)
    const [revokedToken, hash] = [await issue(id, 1), await issue(id, 2)]
    await scratch.redis.set(`${scratch.prefix}generation:${id}`, '1')
    expect(await storeWithVersion2.find(hash)).toMatchObject({ clientId: id, credentialVersion: 2 })
    expect(await readCachedVersion(id)).toBe('2')
    expect(await storeWithVersion2.find(revokedToken)).toBeUndefined()
  })

  test('are required by find, which throws if the token authority is unavailable', async () => {
    const storeWithoutAuthority = createStoreWithAuthority(() => Promise.reject(new Error('no database')))
    const hash = await issue(await register())
    await expect(storeWithoutAuthority.find(hash)).rejects.toThrow('no database')
    expect(await isActive(hash)).toBe(true)
  })

  test('never decrease', async () => {
    const id = await register()
    await createStore().revokeTokensOf({ kind: 'client', id, credentialVersion: 5 })
    await createStore().revokeTokensOf({ kind: 'client', id, credentialVersion: 3 })
    expect(await readCachedVersion(id)).toBe('5')
  })

  test('are not lowered by a slow read from the token authority', async () => {
    const id = await register()
    const hash = await issue(id)
    const authorityResponse = Promise.withResolvers<void>()
    const slowStore = createStoreWithAuthority(async (clientId) => {
      const credentialVersion = await findCredentialVersion(clientId)
      await authorityResponse.promise
      return credentialVersion
    })
    const finding = slowStore.find(hash)
    // The lease shows that the read has begun.
    await expect.poll(() => readCachedVersion(id)).toMatch(/^lease /)
    await deactivate(id, 'deleted')
    authorityResponse.resolve()
    await finding
    expect(await readCachedVersion(id)).toBe('2')
    expect([await isActive(hash), await isActive(await issue(id))]).toEqual([false, false])
  })

  test('are not cached by a slow read from the token authority if Redis lost all data after the revocation', async () => {
    const id = await register()
    const hash = await issue(id)
    const authorityResponse = Promise.withResolvers<void>()
    const slowStore = createStoreWithAuthority(async (clientId) => {
      const credentialVersion = await findCredentialVersion(clientId)
      await authorityResponse.promise
      return credentialVersion
    })
    const finding = slowStore.find(hash)
    await expect.poll(() => readCachedVersion(id)).toMatch(/^lease /)
    await deactivate(id, 'deleted')
    await scratch.loseKeys()
    authorityResponse.resolve()
    await finding
    expect(await readCachedVersion(id)).toBeNull()
    expect(await isActive(await issue(id))).toBe(false)
  })

  test('are raised again after the commit of a deletion if Redis has lost them', async () => {
    const id = await register()
    const raisedVersions: number[] = []
    await deactivate(id, 'deleted', async (subject) => {
      await createStore().revokeTokensOf(subject)
      if (subject.kind === 'client') raisedVersions.push(subject.credentialVersion)
      if (raisedVersions.length > 1) return
      await scratch.loseKeys('generation:*')
      // The change is not committed yet, so the token authority still returns the old version.
      expect(await isActive(await issue(id))).toBe(true)
    })
    expect(raisedVersions).toEqual([2, 2])
    expect(await isActive(await issue(id))).toBe(false)
  })

  test('can be read and raised while a lease of a crashed process is cached', async () => {
    const id = await register()
    const hash = await issue(id)
    await scratch.redis.set(`${scratch.prefix}generation:${id}`, 'lease of a process that died', 'EX', 10)
    expect(await isActive(hash)).toBe(true)
    await deactivate(id, 'disabled')
    expect(await readCachedVersion(id)).toBe('2')
  })

  test('have a TTL of at most ten hours, and tokens a TTL of at most their lifetime', async () => {
    const id = await register()
    const hash = await issue(id)
    await isActive(hash)
    // For an unknown client, only a lease is cached. It must have a TTL too.
    await createStoreWithAuthority(async () => undefined).find(await issue(createExampleAgent().agent.id))
    const keys = await scratch.listKeys()
    const seconds = await Promise.all(keys.map((key) => scratch.redis.ttl(key)))
    expect(keys.length).toBeGreaterThan(2)
    // The TTL of a key that never expires would be -1.
    expect(Math.min(...seconds)).toBeGreaterThan(0)
    expect(Math.max(...seconds)).toBeLessThanOrEqual(2 * 3600 + RULES.appTokenMs / 1000)
    expect(
      await scratch.redis.ttl(`${scratch.prefix}token:${hash.toString('base64url')}`),
    ).toBeLessThanOrEqual(3600)
  })
})

test('finds no token that was saved under an earlier replication ID', async () => {
  await using server = await startRedis()
  const redis = new Redis(server.url)
  const authority = {
    findCredentialVersion: async () => 1,
    isVerificationLive: async () => false,
    readCutoff: async () => ({ epoch: 0, issuedBefore: undefined }),
  }
  const store = createRedisTokenStore(redis, { prefix: 'auth:', authority, now: () => new Date() })
  const hash = sha256(generateToken())
  const issuedAt = new Date()
  const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
  const token = {
    clientId: createExampleAgent().agent.id,
    credentialVersion: 1,
    epoch: 0,
    scope: '',
    audience: '',
    issuedAt,
    expiresAt,
  }
  await store.save(hash, token)
  expect(await store.find(hash)).toEqual(token)
  // Redis gets a new replication ID when it becomes a primary again. It keeps its data, because no primary is on this port.
  await redis.replicaof('127.0.0.1', 9)
  await redis.replicaof('NO', 'ONE')
  expect(await redis.dbsize()).toBeGreaterThan(0)
  expect(await store.find(hash)).toBeUndefined()
  await store.save(hash, token)
  expect(await store.find(hash)).toEqual(token)
  redis.disconnect()
})

test('revokes tokens and finds the others while memory is full, but saves no token', async () => {
  await using server = await startRedis()
  const redis = new Redis(server.url)
  const authority = {
    findCredentialVersion: async () => 1,
    isVerificationLive: async () => true,
    readCutoff: async () => ({ epoch: 0, issuedBefore: undefined }),
  }
  const store = createRedisTokenStore(redis, { prefix: 'auth:', authority, now: () => new Date() })
  const issuedAt = new Date()
  const expiresAt = new Date(issuedAt.getTime() + 3_600_000)
  const verificationId = RegistrationId.parse(`clm_${'a'.repeat(22)}`)
  const createToken = () => ({
    clientId: createExampleAgent().agent.id,
    credentialVersion: 1,
    scope: '',
    audience: '',
    issuedAt,
    expiresAt,
  })
  const tokens = [createToken(), createToken(), { ...createToken(), verificationId }]
  const hashes = tokens.map(() => sha256(generateToken()))
  for (const [index, token] of tokens.entries()) await store.save(hashes[index]!, token)
  // The cutoff must then be cached again while memory is full.
  await redis.del('auth:stop')
  const findEach = async () => (await Promise.all(hashes.map(store.find))).map((token) => token !== undefined)

  // In bytes, so Redis already uses more.
  await redis.config('SET', 'maxmemory', '1')
  await expect(store.save(sha256(generateToken()), createToken())).rejects.toThrow(/^OOM/)
  expect(await findEach()).toEqual([true, true, true])
  await store.revokeTokensOf({ kind: 'client', id: tokens[0]!.clientId, credentialVersion: 2 })
  await store.revokeTokensOf({ kind: 'verification', id: verificationId })
  expect(await findEach()).toEqual([false, true, false])
  // `auth stop` first saves a canary.
  const canary = sha256(generateToken())
  await store.save(canary, { ...createToken(), audience: CANARY_AUDIENCE })
  expect(await store.find(canary)).toMatchObject({ audience: CANARY_AUDIENCE })
  await store.raiseCutoff({ epoch: 1, issuedBefore: undefined })
  expect(await store.find(canary)).toBeUndefined()
  expect(await findEach()).toEqual([false, false, false])
  redis.disconnect()
})

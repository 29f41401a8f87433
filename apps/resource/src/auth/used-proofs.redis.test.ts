import { RULES } from '@plainpath/domain'
import { createLog } from '@plainpath/http'
import { startRedis, type TestRedis } from '@plainpath/http/testing/start-redis'
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRedis } from '../open-redis.ts'
import { createProof, describeUsedProofs } from './used-proofs.contract.ts'
import { createRedisUsedProofs, UsedProofsUnavailable } from './used-proofs.ts'

const log = createLog({ service: 'test', write: () => undefined })
let server: TestRedis
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server[Symbol.asyncDispose]())

const LIFETIME_SECONDS = RULES.usedProofMs / 1_000
const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds

/** Opens a store, and waits until it is connected. */
async function openStore() {
  const redis = openRedis(server.url, { log })
  const connected = Promise.withResolvers<void>()
  redis.onReady(connected.resolve)
  const store = createRedisUsedProofs(redis)
  await connected.promise
  return { store, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() }
}

async function withAdmin<T>(run: (admin: Awaited<ReturnType<typeof connect>>) => Promise<T>): Promise<T> {
  const admin = await connect()
  try {
    return await run(admin)
  } finally {
    admin.destroy()
  }
}
const connect = () => createClient({ url: server.url }).connect()

describeUsedProofs('Redis', async () => {
  const one = await openStore()
  const two = await openStore()
  return {
    stores: [one.store, two.store],
    readStored: () =>
      withAdmin(async (admin) => {
        const keys = await admin.keys('*')
        return JSON.stringify([keys, await admin.mGet(keys)])
      }),
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]()
      await two[Symbol.asyncDispose]()
    },
  }
})

test('stores a proof with a TTL of three minutes', async () => {
  await using opened = await openStore()
  await withAdmin((admin) => admin.flushAll())
  // The proof is dated into the future, because an emptied Redis refuses proofs that were made before its first use.
  await opened.store.use(createProof({ iat: secondsFromNow(10) }))
  await withAdmin(async (admin) => {
    const [proofKey = ''] = await admin.keys('resource:proof:*')
    const ttlSeconds = await admin.ttl(proofKey)
    // On a busy machine, some seconds may have passed since the proof was stored.
    expect(ttlSeconds).toBeGreaterThan(LIFETIME_SECONDS - 30)
    expect(ttlSeconds).toBeLessThanOrEqual(LIFETIME_SECONDS)
    // The second key stores the replication ID.
    expect(await admin.keys('*')).toHaveLength(2)
  })
})

test('throws while Redis is down, and after a restart for proofs that were made before the restart', async () => {
  await using opened = await openStore()
  const proof = createProof({ iat: secondsFromNow(-30) })
  await server.kill()
  await expect(opened.store.use(proof)).rejects.toThrow(UsedProofsUnavailable)
  await server.restart()
  const attempt = (iat: number) => opened.store.use(createProof({ iat })).catch(String)
  await expect.poll(() => attempt(secondsFromNow(1))).toBe(true)
  expect(await attempt(secondsFromNow(-30))).toContain('Redis may have forgotten whether the proof was used')
  await expect(opened.store.use(proof)).rejects.toThrow(UsedProofsUnavailable)
})

test('throws for proofs that were made before the replication ID changed', async () => {
  await using opened = await openStore()
  const iat = secondsFromNow(-20)
  await withAdmin(async (admin) => {
    const [replicationId = ''] = (await admin.get('resource:proofs-since'))?.split(' ') ?? []
    // Pretends that the replication ID was first seen before the proofs were made.
    await admin.set('resource:proofs-since', `${replicationId} ${iat - 1}`)
    expect(await opened.store.use(createProof({ iat }))).toBe(true)
    // As if the ID had changed since then: the next use stores the real ID with the present time.
    await admin.set('resource:proofs-since', `${'a'.repeat(40)} ${iat - 1}`)
  })
  await expect(opened.store.use(createProof({ iat }))).rejects.toThrow(UsedProofsUnavailable)
})

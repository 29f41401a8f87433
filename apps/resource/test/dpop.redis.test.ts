import { randomUUID } from 'node:crypto'
import { type OwnRedis, startRedis } from '@plainpath/http/testing/start-redis'
import {
  ENSURE_MARK,
  formatRevocation,
  getRevocationChannel,
  getRevocationKey,
  PUBLISH,
  REVOCATION,
} from '@plainpath/revocation'
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashOf, makeProof, newProofKey, type ProofKeyPair, sendBound } from './dpop-client.ts'
import { describeInstances, startInstances } from './dpop-instances.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const resources = new AsyncDisposableStack()
let redis: OwnRedis
let api: RunningResource
let key: ProofKeyPair
beforeAll(async () => {
  redis = resources.use(await startRedis())
  api = resources.use(await startResource({ env: { RESOURCE_REDIS_URL: redis.url } }))
  key = await newProofKey()
})
afterAll(() => resources.disposeAsync())

describeInstances('Redis', async () => {
  const ownRedis = await startRedis()
  const instances = await startInstances({ env: { RESOURCE_REDIS_URL: ownRedis.url } })
  return {
    ...instances,
    async [Symbol.asyncDispose]() {
      await instances[Symbol.asyncDispose]()
      await ownRedis[Symbol.asyncDispose]()
    },
  }
})

const KEY = getRevocationKey(REVOCATION.name)
/** Does what a revoker does, in Redis. */
async function withRedis<T>(
  call: (admin: Awaited<ReturnType<ReturnType<typeof createClient>['connect']>>) => Promise<T>,
) {
  const admin = await createClient({ url: redis.url }).connect()
  try {
    return await call(admin as never)
  } finally {
    admin.destroy()
  }
}
const ensureMark = () =>
  withRedis((admin) => admin.eval(ENSURE_MARK.lua, { keys: [KEY], arguments: [randomUUID()] }))
const publishRevocation = (token: string) =>
  withRedis((admin) =>
    admin.eval(PUBLISH.lua, {
      keys: [KEY],
      arguments: [
        randomUUID(),
        getRevocationChannel(REVOCATION.name),
        formatRevocation({ kind: 'token', hash: hashOf(token) }),
      ],
    }),
  )
const proofFor = (token: string, method = 'GET') =>
  makeProof(key, { method, url: `${api.origin}/api/guides`, token })
const read = async (token: string) => sendBound(api, { token, proofs: [await proofFor(token)] })
const readAsBearer = (token: string) =>
  sendRequest(api.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })

test('the cached introspection is used for a bound token, under each proof, until the token is revoked', async () => {
  const mark = await ensureMark()
  api.auth.tamper((reply) => {
    reply.payload['revocation_mark'] = mark
  })
  const [bound, bearer] = [api.auth.issueBound(key.jkt), api.auth.issue()]
  const introspections = () => api.auth.requests.introspection
  const isCached = async () => {
    const introspectionsBefore = introspections()
    expect([(await read(bound)).status, (await readAsBearer(bearer)).status]).toEqual([200, 200])
    return introspections() === introspectionsBefore
  }
  await expect.poll(isCached).toBe(true)
  const introspectionsBefore = introspections()
  const once = [await proofFor(bound)]
  expect((await sendBound(api, { token: bound, proofs: once })).status).toBe(200)
  expectProblem(await sendBound(api, { token: bound, proofs: once }), {
    status: 401,
    code: 'invalid-token-proof',
  })
  for (const headers of [
    { authorization: `Bearer ${bound}` },
    { authorization: `DPoP ${bound}` },
    { authorization: `Bearer ${bearer}`, dpop: await proofFor(bearer) },
    { authorization: `DPoP ${bearer}`, dpop: await proofFor(bearer) },
    { authorization: `DPoP ${bound}`, dpop: await proofFor(bound, 'HEAD') },
  ]) {
    const refused = await sendRequest(api.origin, { path: '/api/guides', headers })
    expect(refused.status).toBe(401)
    expect(refused.headers['www-authenticate']).toMatch(/^DPoP /)
  }
  expect(introspections()).toBe(introspectionsBefore)
  api.auth.revoke(bound)
  await publishRevocation(bound)
  await expect.poll(async () => (await read(bound)).status).toBe(401)
  expect((await readAsBearer(bearer)).status).toBe(200)
  api.auth.tamper()
})

test('a bound request is 503 without Redis, other requests succeed, and a lost store accepts no earlier proof', async () => {
  const [bound, bearer] = [api.auth.issueBound(key.jkt), api.auth.issue()]
  await expect.poll(async () => (await read(bound)).status).toBe(200)
  const earlier = [
    await makeProof(
      key,
      { url: `${api.origin}/api/guides`, token: bound },
      { claims: { iat: Math.floor(Date.now() / 1_000) - 30 } },
    ),
  ]
  await redis.kill()
  const refused = await read(bound)
  expectProblem(refused, { status: 503, code: 'unavailable' })
  expect(refused.headers['retry-after']).toMatch(/^\d+$/)
  expect((await readAsBearer(bearer)).status).toBe(200)
  expect((await sendRequest(api.origin, { path: '/api/guides' })).status).toBe(200)
  await redis.restart()
  await expect.poll(async () => (await read(bound)).status).toBe(200)
  const lost = await sendBound(api, { token: bound, proofs: earlier })
  expectProblem(lost, { status: 503, code: 'unavailable' })
  expect(api.logged.join('')).not.toMatch(/ppt_|eyJ/)
})

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
import { hashToken, makeProof, newProofKey, type ProofKeyPair, sendBoundRequest } from './dpop-client.ts'
import { describeProofReuse, startInstances } from './dpop-instances.ts'
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

describeProofReuse('Redis', async () => {
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

const REVOCATION_KEY = getRevocationKey(REVOCATION.name)
/** Calls a function with a connection to Redis, through which it can do what the authorization server does. */
async function withRedis<T>(
  run: (client: Awaited<ReturnType<ReturnType<typeof createClient>['connect']>>) => Promise<T>,
) {
  const client = await createClient({ url: redis.url }).connect()
  try {
    return await run(client as never)
  } finally {
    client.destroy()
  }
}
const ensureMark = () =>
  withRedis((client) => client.eval(ENSURE_MARK.lua, { keys: [REVOCATION_KEY], arguments: [randomUUID()] }))
const publishRevocation = (token: string) =>
  withRedis((client) =>
    client.eval(PUBLISH.lua, {
      keys: [REVOCATION_KEY],
      arguments: [
        randomUUID(),
        getRevocationChannel(REVOCATION.name),
        formatRevocation({ kind: 'token', hash: hashToken(token) }),
      ],
    }),
  )
const proveRequest = (token: string, method = 'GET') =>
  makeProof(key, { method, url: `${api.origin}/api/guides`, token })
const read = async (token: string) => sendBoundRequest(api, { token, proofs: [await proveRequest(token)] })
const readAsBearer = (token: string) =>
  sendRequest(api.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })

test('the introspection of a bound token is cached until the token is revoked, and each proof is still checked', async () => {
  const mark = await ensureMark()
  api.auth.tamper((reply) => {
    reply.payload['revocation_mark'] = mark
  })
  const [bound, bearer] = [api.auth.issueBound(key.jkt), api.auth.issue()]
  const countIntrospections = () => api.auth.requests.introspection
  const isCached = async () => {
    const introspectionsBefore = countIntrospections()
    expect([(await read(bound)).status, (await readAsBearer(bearer)).status]).toEqual([200, 200])
    return countIntrospections() === introspectionsBefore
  }
  await expect.poll(isCached).toBe(true)
  const introspectionsBefore = countIntrospections()
  const proofs = [await proveRequest(bound)]
  expect((await sendBoundRequest(api, { token: bound, proofs })).status).toBe(200)
  expectProblem(await sendBoundRequest(api, { token: bound, proofs }), {
    status: 401,
    code: 'invalid-token-proof',
  })
  for (const headers of [
    { authorization: `Bearer ${bound}` },
    { authorization: `DPoP ${bound}` },
    { authorization: `Bearer ${bearer}`, dpop: await proveRequest(bearer) },
    { authorization: `DPoP ${bearer}`, dpop: await proveRequest(bearer) },
    { authorization: `DPoP ${bound}`, dpop: await proveRequest(bound, 'HEAD') },
  ]) {
    const refused = await sendRequest(api.origin, { path: '/api/guides', headers })
    expect(refused.status).toBe(401)
    expect(refused.headers['www-authenticate']).toMatch(/^DPoP /)
  }
  expect(countIntrospections()).toBe(introspectionsBefore)
  api.auth.revoke(bound)
  await publishRevocation(bound)
  await expect.poll(async () => (await read(bound)).status).toBe(401)
  expect((await readAsBearer(bearer)).status).toBe(200)
  api.auth.tamper()
})

test('a bound request is 503 without Redis, and so is one with an earlier proof after Redis lost its data', async () => {
  const [bound, bearer] = [api.auth.issueBound(key.jkt), api.auth.issue()]
  await expect.poll(async () => (await read(bound)).status).toBe(200)
  const earlierProofs = [
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
  const refusedAfterLoss = await sendBoundRequest(api, { token: bound, proofs: earlierProofs })
  expectProblem(refusedAfterLoss, { status: 503, code: 'unavailable' })
  expect(api.logLines.join('')).not.toMatch(/ppt_|eyJ/)
})

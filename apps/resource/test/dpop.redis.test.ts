import { randomUUID } from 'node:crypto'
import { startRedis, type TestRedis } from '@plainpath/http/testing/start-redis'
import {
  ENSURE_MARK_SCRIPT,
  formatRevocation,
  getRevocationChannel,
  getRevocationKey,
  PUBLISH_SCRIPT,
  REVOCATION,
} from '@plainpath/revocation'
import { createClient } from 'redis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  generateProofKeyPair,
  hashToken,
  makeProof,
  type ProofKeyPair,
  sendBoundRequest,
} from './dpop-client.ts'
import { describeProofReuse, startInstances } from './dpop-instances.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const resources = new AsyncDisposableStack()
let redis: TestRedis
let api: RunningResource
let key: ProofKeyPair
beforeAll(async () => {
  redis = resources.use(await startRedis())
  api = resources.use(await startResource({ env: { RESOURCE_REDIS_URL: redis.url } }))
  key = await generateProofKeyPair()
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
/** Runs a function with a Redis connection, through which a test acts in place of the authorization server. */
async function withRedis<T>(
  run: (client: Awaited<ReturnType<ReturnType<typeof createClient>['connect']>>) => Promise<T>,
) {
  const client = await createClient({ url: redis.url }).connect()
  try {
    // `ReturnType` replaces the type parameters of `createClient` with their constraints, so the two client types differ.
    return await run(client as never)
  } finally {
    client.destroy()
  }
}
const ensureMark = () =>
  withRedis((client) =>
    client.eval(ENSURE_MARK_SCRIPT.lua, { keys: [REVOCATION_KEY], arguments: [randomUUID()] }),
  )
const publishRevocation = (token: string) =>
  withRedis((client) =>
    client.eval(PUBLISH_SCRIPT.lua, {
      keys: [REVOCATION_KEY],
      arguments: [
        randomUUID(),
        getRevocationChannel(REVOCATION.name),
        formatRevocation({ kind: 'token', hash: hashToken(token) }),
      ],
    }),
  )
const makeGuidesProof = (token: string, method = 'GET') =>
  makeProof(key, { method, url: `${api.origin}/api/guides`, token })
const readGuides = async (token: string) =>
  sendBoundRequest(api, { token, proofs: [await makeGuidesProof(token)] })
const readAsBearer = (token: string) =>
  sendRequest(api.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })

test('the introspection of a bound token is cached until the token is revoked; requests with a used proof, or with the wrong scheme or proof, are refused all the same', async () => {
  // The API caches only responses that name the mark of its subscription, which the fake authorization server does not send.
  const mark = await ensureMark()
  api.auth.tamper((reply) => {
    reply.payload['revocation_mark'] = mark
  })
  onTestFinished(() => api.auth.stopTampering())
  const [boundToken, bearerToken] = [api.auth.issueBound(key.jkt), api.auth.issue()]
  const countIntrospections = () => api.auth.requests.introspection
  /** Sends a valid request with each token. Returns true if both were answered from the cache. */
  const areBothCached = async () => {
    const countBefore = countIntrospections()
    const statuses = [(await readGuides(boundToken)).status, (await readAsBearer(bearerToken)).status]
    expect(statuses).toEqual([200, 200])
    return countIntrospections() === countBefore
  }
  // The API caches introspections only once it has subscribed to revocations.
  await expect.poll(areBothCached).toBe(true)
  const readMetrics = async () => (await fetch(`${api.operations.url}/metrics`)).text()
  await expect.poll(readMetrics).toContain('revocation_lease_valid{service="resource"} 1')
  const introspectionsBefore = countIntrospections()
  const proofs = [await makeGuidesProof(boundToken)]
  expect((await sendBoundRequest(api, { token: boundToken, proofs })).status).toBe(200)
  expectProblem(await sendBoundRequest(api, { token: boundToken, proofs }), {
    status: 401,
    code: 'invalid-token-proof',
  })
  const mismatches: [label: string, headers: Record<string, string>][] = [
    ['a bound token with the scheme Bearer', { authorization: `Bearer ${boundToken}` }],
    ['a bound token without a proof', { authorization: `DPoP ${boundToken}` }],
    [
      'a bearer token with a proof',
      { authorization: `Bearer ${bearerToken}`, dpop: await makeGuidesProof(bearerToken) },
    ],
    [
      'a bearer token with the scheme DPoP',
      { authorization: `DPoP ${bearerToken}`, dpop: await makeGuidesProof(bearerToken) },
    ],
    [
      'a bound token with a proof for another method',
      { authorization: `DPoP ${boundToken}`, dpop: await makeGuidesProof(boundToken, 'HEAD') },
    ],
  ]
  for (const [label, headers] of mismatches) {
    const refusal = await sendRequest(api.origin, { path: '/api/guides', headers })
    expect(refusal.status, label).toBe(401)
    expect(refusal.headers['www-authenticate'], label).toMatch(/^DPoP /)
  }
  expect(countIntrospections()).toBe(introspectionsBefore)
  api.auth.revoke(boundToken)
  await publishRevocation(boundToken)
  await expect.poll(async () => (await readGuides(boundToken)).status).toBe(401)
  expect((await readAsBearer(bearerToken)).status).toBe(200)
})

test('without Redis, bound requests get 503 and others succeed; after Redis loses its data, a proof from before the loss gets 503', async () => {
  const [boundToken, bearerToken] = [api.auth.issueBound(key.jkt), api.auth.issue()]
  await expect.poll(async () => (await readGuides(boundToken)).status).toBe(200)
  // This proof is from before the loss. It is recent enough that it would otherwise be accepted.
  const earlierProof = await makeProof(
    key,
    { url: `${api.origin}/api/guides`, token: boundToken },
    { claims: { iat: Math.floor(Date.now() / 1_000) - 30 } },
  )
  await redis.kill()
  const refusal = await readGuides(boundToken)
  expectProblem(refusal, { status: 503, code: 'unavailable' })
  expect(refusal.headers['retry-after']).toMatch(/^\d+$/)
  expect((await readAsBearer(bearerToken)).status).toBe(200)
  expect((await sendRequest(api.origin, { path: '/api/guides' })).status).toBe(200)
  await redis.restart()
  await expect.poll(async () => (await readGuides(boundToken)).status).toBe(200)
  const refusedAfterLoss = await sendBoundRequest(api, { token: boundToken, proofs: [earlierProof] })
  expectProblem(refusedAfterLoss, { status: 503, code: 'unavailable' })
  // No token and no proof is logged.
  expect(api.logLines.join('')).not.toMatch(/ppt_|eyJ/)
})

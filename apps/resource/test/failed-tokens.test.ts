import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const MINUTE_MS = 60_000
/** Longer than the time for which a failed token counts against the limit: up to 1.1 windows of a minute. */
const LIMIT_RESET_MS = 1.2 * MINUTE_MS
const clock = { nowMs: Date.now() }
let api: RunningResource
let address: string

beforeAll(async () => {
  api = await startResource({
    now: () => new Date(clock.nowMs),
    env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' },
  })
})
afterAll(() => api[Symbol.asyncDispose]())
beforeEach(() => {
  api.auth.stopTampering()
  clock.nowMs += LIMIT_RESET_MS
  address = newAddress()
})

let addressCount = 0
const newAddress = () => `198.51.100.${(addressCount += 1)}`
const newUnknownToken = () => `ppt_${randomBytes(32).toString('base64url')}`
const readGuides = (token: string, from = address) =>
  sendRequest(api.origin, {
    path: '/api/guides',
    headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': from },
  })
const countIntrospections = () => api.auth.requests.introspection
/** Sends `count` unknown tokens from an address, and expects each to get 401. */
async function sendUnknownTokens(count: number, from = address): Promise<void> {
  for (let index = 0; index < count; index += 1)
    expectProblem(await readGuides(newUnknownToken(), from), { status: 401, code: 'invalid-token' })
}

test('after 30 failed tokens from an address within a minute, another is refused without introspection', async () => {
  await sendUnknownTokens(30)
  const introspectionsBefore = countIntrospections()
  const refusal = await readGuides(newUnknownToken())
  expectProblem(refusal, { status: 429, code: 'rate-limited' })
  expect(refusal.json()).toMatchObject({ policy: 'failed-tokens' })
  expect(Number(refusal.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect(countIntrospections()).toBe(introspectionsBefore)
  clock.nowMs += LIMIT_RESET_MS
  expectProblem(await readGuides(newUnknownToken()), { status: 401, code: 'invalid-token' })
})

test('a verified token is accepted from an address with too many failed tokens', async () => {
  const token = api.auth.issue()
  expect((await readGuides(token)).status).toBe(200)
  await sendUnknownTokens(30)
  expectProblem(await readGuides(newUnknownToken()), { status: 429, code: 'rate-limited' })
  for (let index = 0; index < 40; index += 1) expect((await readGuides(token)).status).toBe(200)
})

test('too many failed tokens from one address do not affect other addresses', async () => {
  await sendUnknownTokens(30)
  expect((await readGuides(api.auth.issue(), newAddress())).status).toBe(200)
  expectProblem(await readGuides(newUnknownToken(), newAddress()), { status: 401, code: 'invalid-token' })
})

test('a valid token that was never verified is refused while the limit of its address is used up', async () => {
  const token = api.auth.issue()
  await sendUnknownTokens(30)
  expectProblem(await readGuides(token), { status: 429, code: 'rate-limited' })
  clock.nowMs += LIMIT_RESET_MS
  expect((await readGuides(token)).status).toBe(200)
})

test('once a verified token is revoked, the limit applies to it again', async () => {
  const token = api.auth.issue()
  expect((await readGuides(token)).status).toBe(200)
  await sendUnknownTokens(30)
  api.auth.revoke(token)
  expectProblem(await readGuides(token), { status: 401, code: 'invalid-token' })
  const introspectionsBefore = countIntrospections()
  expectProblem(await readGuides(token), { status: 429, code: 'rate-limited' })
  expect(countIntrospections()).toBe(introspectionsBefore)
})

test('at most 30 failed tokens from an IPv6 /64 are introspected, and at most 120 from its /48', async () => {
  const newAddressIn = (network: number) => `2001:db8:7:${network}::${randomBytes(2).toString('hex')}`
  await sendUnknownTokens(30, newAddressIn(1))
  expectProblem(await readGuides(newUnknownToken(), newAddressIn(1)), { status: 429, code: 'rate-limited' })
  for (const network of [2, 3, 4]) await sendUnknownTokens(30, newAddressIn(network))
  expectProblem(await readGuides(newUnknownToken(), newAddressIn(5)), { status: 429, code: 'rate-limited' })
})

test('at most 16 unverified tokens of an address are introspected at once; one more gets 429, and a verified token is still accepted', async () => {
  const verified = api.auth.issue()
  expect((await readGuides(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    reply.delayMs = 700
  })
  const introspectionsBefore = countIntrospections()
  const unverified = Array.from({ length: 17 }, () => readGuides(newUnknownToken()))
  await expect.poll(() => countIntrospections() - introspectionsBefore).toBe(16)
  const verifiedReads = await Promise.all([readGuides(verified), readGuides(verified, newAddress())])
  expect(verifiedReads.map(({ status }) => status)).toEqual([200, 200])
  const statuses = (await Promise.all(unverified)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([...Array<number>(16).fill(401), 429])
})

test('at most 128 unverified tokens in all are introspected at once; more get 503, and a verified token is still accepted', async () => {
  const verified = api.auth.issue()
  expect((await readGuides(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    reply.delayMs = 1_500
  })
  const introspectionsBefore = countIntrospections()
  const unverified = Array.from({ length: 9 }, () => {
    const from = newAddress()
    return Array.from({ length: 16 }, () => readGuides(newUnknownToken(), from))
  }).flat()
  await expect.poll(() => countIntrospections() - introspectionsBefore).toBe(128)
  expect((await readGuides(verified)).status).toBe(200)
  const statuses = (await Promise.all(unverified)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 503)).toHaveLength(16)
})

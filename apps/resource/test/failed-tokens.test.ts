import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

/*
 * The limits on introspections. A failed token is one that introspection reports as inactive: it is unknown, has expired or was
 * revoked. A verified token is one that the API found active within the last ten minutes.
 */

const MINUTE_MS = 60_000
/** After this time, no failed token counts against the limit any more: each counts for at most 1.1 windows of a minute. */
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
const listGuides = (token: string, from = address) =>
  sendRequest(api.origin, {
    path: '/api/guides',
    headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': from },
  })
const countIntrospections = () => api.auth.requests.introspection
/** Sends `count` unknown tokens from an address, and expects each to get 401. */
async function sendUnknownTokens(count: number, from = address): Promise<void> {
  for (let index = 0; index < count; index += 1)
    expectProblem(await listGuides(newUnknownToken(), from), { status: 401, code: 'invalid-token' })
}

test('after 30 failed tokens from an address within a minute, another is refused without introspection', async () => {
  await sendUnknownTokens(30)
  const introspectionsBefore = countIntrospections()
  const refusal = await listGuides(newUnknownToken())
  expectProblem(refusal, { status: 429, code: 'rate-limited' })
  expect(refusal.json()).toMatchObject({
    policy: 'failed-tokens',
    detail: expect.stringMatching(
      /^The maximum number of unknown, expired or revoked tokens from a network is 30 per minute\. Try again in \d+ seconds\.$/,
    ),
  })
  expect(Number(refusal.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect(countIntrospections()).toBe(introspectionsBefore)
  clock.nowMs += LIMIT_RESET_MS
  expectProblem(await listGuides(newUnknownToken()), { status: 401, code: 'invalid-token' })
})

test('a recently verified token is accepted from an address with too many failed tokens', async () => {
  const token = api.auth.issue()
  expect((await listGuides(token)).status).toBe(200)
  await sendUnknownTokens(30)
  expectProblem(await listGuides(newUnknownToken()), { status: 429, code: 'rate-limited' })
  // More requests than the limit of failed tokens.
  for (let index = 0; index < 40; index += 1) expect((await listGuides(token)).status).toBe(200)
})

test('too many failed tokens from one address do not affect other addresses', async () => {
  await sendUnknownTokens(30)
  expect((await listGuides(api.auth.issue(), newAddress())).status).toBe(200)
  expectProblem(await listGuides(newUnknownToken(), newAddress()), { status: 401, code: 'invalid-token' })
})

test('a valid token that was not verified recently is refused while the limit of its address is used up', async () => {
  const token = api.auth.issue()
  await sendUnknownTokens(30)
  expectProblem(await listGuides(token), { status: 429, code: 'rate-limited' })
  clock.nowMs += LIMIT_RESET_MS
  expect((await listGuides(token)).status).toBe(200)
})

test('after a recently verified token is found revoked, the limit applies to it again', async () => {
  const token = api.auth.issue()
  expect((await listGuides(token)).status).toBe(200)
  await sendUnknownTokens(30)
  api.auth.revoke(token)
  expectProblem(await listGuides(token), { status: 401, code: 'invalid-token' })
  const introspectionsBefore = countIntrospections()
  expectProblem(await listGuides(token), { status: 429, code: 'rate-limited' })
  expect(countIntrospections()).toBe(introspectionsBefore)
})

test('a token that was verified before does not count the first time that it is found inactive, but then it does', async () => {
  // More than the limit of 30.
  const tokens = Array.from({ length: 40 }, () => api.auth.issue())
  for (const token of tokens) expect((await listGuides(token)).status).toBe(200)
  clock.nowMs += 11 * MINUTE_MS
  for (const token of tokens) {
    api.auth.revoke(token)
    expectProblem(await listGuides(token), { status: 401, code: 'invalid-token' })
  }
  expect((await listGuides(api.auth.issue())).status).toBe(200)
  for (const token of tokens.slice(0, 30))
    expectProblem(await listGuides(token), { status: 401, code: 'invalid-token' })
  expectProblem(await listGuides(tokens[0] ?? ''), { status: 429, code: 'rate-limited' })
})

test('after 30 failed tokens from an IPv6 /64, or 120 from its /48, another is refused', async () => {
  const newAddressIn = (network: number) => `2001:db8:7:${network}::${randomBytes(2).toString('hex')}`
  await sendUnknownTokens(30, newAddressIn(1))
  expectProblem(await listGuides(newUnknownToken(), newAddressIn(1)), { status: 429, code: 'rate-limited' })
  for (const network of [2, 3, 4]) await sendUnknownTokens(30, newAddressIn(network))
  expectProblem(await listGuides(newUnknownToken(), newAddressIn(5)), { status: 429, code: 'rate-limited' })
})

test('while 16 unverified tokens of an address are introspected, another gets 429, but a verified token gets 200', async () => {
  const verified = api.auth.issue()
  expect((await listGuides(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    // Keeps the introspections in flight while the test counts them.
    reply.delayMs = 700
  })
  const introspectionsBefore = countIntrospections()
  const unverified = Array.from({ length: 17 }, () => listGuides(newUnknownToken()))
  await expect.poll(() => countIntrospections() - introspectionsBefore).toBe(16)
  // The second read comes from an address that has no introspection in flight.
  const verifiedReads = await Promise.all([listGuides(verified), listGuides(verified, newAddress())])
  expect(verifiedReads.map(({ status }) => status)).toEqual([200, 200])
  const responses = await Promise.all(unverified)
  expect(responses.map(({ status }) => status).toSorted()).toEqual([...Array<number>(16).fill(401), 429])
  expect(responses.find(({ status }) => status === 429)?.json()).toMatchObject({
    policy: 'introspections-at-once',
    detail:
      'The maximum number of tokens from a network that are checked at the same time is 16. Try again in 1 second.',
  })
})

test('while 128 unverified tokens in all are introspected, others get 503, but a verified token gets 200', async () => {
  const verified = api.auth.issue()
  expect((await listGuides(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    // Keeps the introspections in flight while the test counts them.
    reply.delayMs = 1_500
  })
  const introspectionsBefore = countIntrospections()
  // 9 addresses with 16 tokens each: 16 more than the limit of 128.
  const unverified = Array.from({ length: 9 }, () => {
    const from = newAddress()
    return Array.from({ length: 16 }, () => listGuides(newUnknownToken(), from))
  }).flat()
  await expect.poll(() => countIntrospections() - introspectionsBefore).toBe(128)
  expect((await listGuides(verified)).status).toBe(200)
  const statuses = (await Promise.all(unverified)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 503)).toHaveLength(16)
})

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const MINUTE_MS = 60_000
/** Longer than a failed token counts: the window of the limit is a minute, and a request counts for up to 1.1 windows. */
const COUNTED_MS = 1.2 * MINUTE_MS
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
  api.auth.tamper()
  clock.nowMs += 2 * MINUTE_MS
  address = newAddress()
})

let addressCount = 0
const newAddress = () => `198.51.100.${(addressCount += 1)}`
const newUnknownToken = () => `ppt_${randomBytes(32).toString('base64url')}`
const read = (token: string, from = address) =>
  sendRequest(api.origin, {
    path: '/api/guides',
    headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': from },
  })
const countIntrospections = () => api.auth.requests.introspection
/** Sends unknown tokens from an address, each of which gets 401. */
async function sendUnknownTokens(count: number, from = address): Promise<void> {
  for (let index = 0; index < count; index += 1)
    expectProblem(await read(newUnknownToken(), from), { status: 401, code: 'invalid-token' })
}

test('after 30 failed tokens from an address within a minute, refuses another without introspection', async () => {
  await sendUnknownTokens(30)
  const introspectionsBefore = countIntrospections()
  const refusal = await read(newUnknownToken())
  expectProblem(refusal, { status: 429, code: 'rate-limited' })
  expect(refusal.json()).toMatchObject({ policy: 'failed-tokens' })
  expect(Number(refusal.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect(countIntrospections()).toBe(introspectionsBefore)
  clock.nowMs += COUNTED_MS
  expectProblem(await read(newUnknownToken()), { status: 401, code: 'invalid-token' })
})

test('accepts a verified token from an address with too many failed tokens', async () => {
  const token = api.auth.issue()
  expect((await read(token)).status).toBe(200)
  await sendUnknownTokens(30)
  expectProblem(await read(newUnknownToken()), { status: 429, code: 'rate-limited' })
  for (let index = 0; index < 40; index += 1) expect((await read(token)).status).toBe(200)
})

test('accepts a new valid token, and introspects an unknown one, from other addresses', async () => {
  await sendUnknownTokens(30)
  expect((await read(api.auth.issue(), newAddress())).status).toBe(200)
  expectProblem(await read(newUnknownToken(), newAddress()), { status: 401, code: 'invalid-token' })
})

test('refuses a valid token that was never verified, until the limit of its address allows another', async () => {
  const token = api.auth.issue()
  await sendUnknownTokens(30)
  expectProblem(await read(token), { status: 429, code: 'rate-limited' })
  clock.nowMs += COUNTED_MS
  expect((await read(token)).status).toBe(200)
})

test('applies the limit to a verified token again after it was revoked', async () => {
  const token = api.auth.issue()
  expect((await read(token)).status).toBe(200)
  await sendUnknownTokens(30)
  api.auth.revoke(token)
  expectProblem(await read(token), { status: 401, code: 'invalid-token' })
  const introspectionsBefore = countIntrospections()
  expectProblem(await read(token), { status: 429, code: 'rate-limited' })
  expect(countIntrospections()).toBe(introspectionsBefore)
})

test('allows 30 failed tokens from an IPv6 /64, and 120 from its /48', async () => {
  const newAddressIn = (network: number) => `2001:db8:7:${network}::${randomBytes(2).toString('hex')}`
  await sendUnknownTokens(30, newAddressIn(1))
  expectProblem(await read(newUnknownToken(), newAddressIn(1)), { status: 429, code: 'rate-limited' })
  for (const network of [2, 3, 4]) await sendUnknownTokens(30, newAddressIn(network))
  expectProblem(await read(newUnknownToken(), newAddressIn(5)), { status: 429, code: 'rate-limited' })
})

test('introspects at most 16 unverified tokens of an address simultaneously, and a verified token in addition', async () => {
  const verified = api.auth.issue()
  expect((await read(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    reply.delayMs = 700
  })
  const introspectionsBefore = countIntrospections()
  const unverified = Array.from({ length: 17 }, () => read(newUnknownToken()))
  await expect.poll(() => countIntrospections() - introspectionsBefore).toBe(16)
  const verifiedReads = await Promise.all([read(verified), read(verified, newAddress())])
  expect(verifiedReads.map(({ status }) => status)).toEqual([200, 200])
  const statuses = (await Promise.all(unverified)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([...Array<number>(16).fill(401), 429])
})

test('introspects at most 128 unverified tokens simultaneously, and a verified token in addition', async () => {
  const verified = api.auth.issue()
  expect((await read(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    reply.delayMs = 1_500
  })
  const introspectionsBefore = countIntrospections()
  const unverified = Array.from({ length: 9 }, () => {
    const from = newAddress()
    return Array.from({ length: 16 }, () => read(newUnknownToken(), from))
  }).flat()
  await expect.poll(() => countIntrospections() - introspectionsBefore).toBe(128)
  expect((await read(verified)).status).toBe(200)
  const statuses = (await Promise.all(unverified)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 503)).toHaveLength(16)
})

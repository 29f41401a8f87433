import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const MINUTE_MS = 60_000
const clock = { at: Date.now() }
let api: RunningResource
let address: string

beforeAll(async () => {
  api = await startResource({
    now: () => new Date(clock.at),
    env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' },
  })
})
afterAll(() => api[Symbol.asyncDispose]())
beforeEach(() => {
  api.auth.tamper()
  clock.at += 2 * MINUTE_MS
  address = newAddress()
})

let addresses = 0
const newAddress = () => `198.51.100.${(addresses += 1)}`
const unknown = () => `ppt_${randomBytes(32).toString('base64url')}`
const read = (token: string, from = address) =>
  sendRequest(api.origin, {
    path: '/api/guides',
    headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': from },
  })
const introspections = () => api.auth.requests.introspection
async function fail(count: number, from = address): Promise<void> {
  for (let index = 0; index < count; index += 1)
    expectProblem(await read(unknown(), from), { status: 401, code: 'invalid-token' })
}

test('refuses further tokens of an address of which 30 failed within a minute, without introspection', async () => {
  await fail(30)
  const introspectionsBefore = introspections()
  const refused = await read(unknown())
  expectProblem(refused, { status: 429, code: 'rate-limited' })
  expect(refused.json()).toMatchObject({ policy: 'failed-tokens' })
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect(introspections()).toBe(introspectionsBefore)
  clock.at += 1.2 * MINUTE_MS
  expectProblem(await read(unknown()), { status: 401, code: 'invalid-token' })
})

test('keeps serving a verified token, whatever else its address sends', async () => {
  const token = api.auth.issue()
  expect((await read(token)).status).toBe(200)
  await fail(30)
  expectProblem(await read(unknown()), { status: 429, code: 'rate-limited' })
  for (let index = 0; index < 40; index += 1) expect((await read(token)).status).toBe(200)
})

test('keeps serving other addresses, also with new tokens', async () => {
  await fail(30)
  expect((await read(api.auth.issue(), newAddress())).status).toBe(200)
  expectProblem(await read(unknown(), newAddress()), { status: 401, code: 'invalid-token' })
})

test('lets a valid token that it sees for the first time wait, behind an address that spent its budget', async () => {
  const token = api.auth.issue()
  await fail(30)
  expectProblem(await read(token), { status: 429, code: 'rate-limited' })
  clock.at += 1.2 * MINUTE_MS
  expect((await read(token)).status).toBe(200)
})

test('counts a token from when it turned out to be revoked', async () => {
  const token = api.auth.issue()
  expect((await read(token)).status).toBe(200)
  await fail(30)
  api.auth.revoke(token)
  expectProblem(await read(token), { status: 401, code: 'invalid-token' })
  const introspectionsBefore = introspections()
  expectProblem(await read(token), { status: 429, code: 'rate-limited' })
  expect(introspections()).toBe(introspectionsBefore)
})

test('counts the /64 of an IPv6 address, and four times as many for its /48', async () => {
  const host = (network: number) => `2001:db8:7:${network}::${randomBytes(2).toString('hex')}`
  await fail(30, host(1))
  expectProblem(await read(unknown(), host(1)), { status: 429, code: 'rate-limited' })
  for (const network of [2, 3, 4]) await fail(30, host(network))
  expectProblem(await read(unknown(), host(5)), { status: 429, code: 'rate-limited' })
})

test('introspects no more than 16 unverified tokens of an address at once, and every verified one', async () => {
  const verified = api.auth.issue()
  expect((await read(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    reply.delayMs = 700
  })
  const introspectionsBefore = introspections()
  const many = Array.from({ length: 17 }, () => read(unknown()))
  await expect.poll(() => introspections() - introspectionsBefore).toBe(16)
  const valid = await Promise.all([read(verified), read(verified, newAddress())])
  expect(valid.map(({ status }) => status)).toEqual([200, 200])
  const statuses = (await Promise.all(many)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([...Array<number>(16).fill(401), 429])
})

test('keeps half of all introspections for tokens that it verified before', async () => {
  const verified = api.auth.issue()
  expect((await read(verified)).status).toBe(200)
  api.auth.tamper((reply) => {
    reply.delayMs = 1_500
  })
  const introspectionsBefore = introspections()
  const many = Array.from({ length: 9 }, () => {
    const from = newAddress()
    return Array.from({ length: 16 }, () => read(unknown(), from))
  }).flat()
  await expect.poll(() => introspections() - introspectionsBefore).toBe(128)
  expect((await read(verified)).status).toBe(200)
  const statuses = (await Promise.all(many)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 503)).toHaveLength(16)
})

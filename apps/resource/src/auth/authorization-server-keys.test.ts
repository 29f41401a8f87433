import { serve } from '@plainpath/http'
import { errors, exportJWK, generateKeyPair, type JWTVerifyGetKey } from 'jose'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { createAuthorizationServerClient } from './authorization-server-client.ts'
import { createAuthorizationServerKeys } from './authorization-server-keys.ts'

const resources = new AsyncDisposableStack()
/** The start of the test's monotonic clock, in milliseconds. Its value does not matter. */
const START_MS = 100_000
let now = START_MS
let requestCount = 0
/** Delays each response of the server until it resolves. Undefined for an immediate response. */
let holdUntil: Promise<void> | undefined
let status = 200
let body: { keys: unknown[]; trust_seconds?: unknown }
let getKey: JWTVerifyGetKey

const createJwk = async (kid: string) => ({
  ...(await exportJWK((await generateKeyPair('ES256')).publicKey)),
  kid,
  alg: 'ES256',
})
const jwkOne = await createJwk('one')
const jwkTwo = await createJwk('two')
const findKey = async (kid: string) => getKey({ alg: 'ES256', kid }, {} as never)
const expectFound = (kid: string) => expect(findKey(kid)).resolves.toBeDefined()
/** Expects that the key set was fetched, and does not contain the key. */
const expectNotFound = (kid: string) => expect(findKey(kid)).rejects.toThrow(errors.JWKSNoMatchingKey)

const server = resources.use(
  await serve(
    (_request, response) => {
      requestCount += 1
      void (holdUntil ?? Promise.resolve()).then(() => response.writeHead(status).end(JSON.stringify(body)))
    },
    { port: 0, host: '127.0.0.1', drainSeconds: 0 },
  ),
)
const { url } = server
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  now = START_MS
  requestCount = 0
  status = 200
  holdUntil = undefined
  body = { keys: [jwkOne], trust_seconds: 5 }
  getKey = createAuthorizationServerKeys(createAuthorizationServerClient([url]), {
    clock: { now: () => now },
  })
})
afterEach(() => {
  holdUntil = undefined
})

test('shares one fetch among concurrent callers', async () => {
  await Promise.all(Array.from({ length: 20 }, () => expectFound('one')))
  expect(requestCount).toBe(1)
})

test('trusts a key set for its trust_seconds, and no longer', async () => {
  await expectFound('one')
  body = { keys: [jwkTwo], trust_seconds: 5 }
  now += 2_499
  await expectFound('one')
  expect(requestCount).toBe(1)
  now = START_MS + 5_000
  await expectNotFound('one')
  await expectFound('two')
})

test('fetches the key set again in the background halfway through its trust period', async () => {
  await expectFound('one')
  now += 2_500
  const { promise, resolve } = Promise.withResolvers<void>()
  holdUntil = promise
  await expectFound('one')
  resolve()
  await expect.poll(() => requestCount).toBe(2)
})

test('serves cached keys while the endpoint is down, until the trust period ends', async () => {
  await expectFound('one')
  status = 500
  for (const elapsedMs of [2_500, 2_800, 3_100, 4_999]) {
    now = START_MS + elapsedMs
    await expectFound('one')
  }
  now = START_MS + 5_000
  await expect(findKey('one')).rejects.toThrow('the response for the key set was 500')
  status = 200
  await expectFound('one')
})

test('measures the trust period from the start of the request', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  holdUntil = promise
  const slowResult = findKey('one')
  await expect.poll(() => requestCount).toBe(1)
  now += 5_000
  resolve()
  await expect(slowResult).rejects.toThrow('after its trust period had ended')
})

test('after fetching again for an unknown kid, measures the new trust period from the start of that fetch', async () => {
  await expectFound('one')
  body = { keys: [jwkOne, jwkTwo], trust_seconds: 5 }
  now += 1_000
  const { promise, resolve } = Promise.withResolvers<void>()
  holdUntil = promise
  const slowResult = findKey('two')
  await expect.poll(() => requestCount).toBe(2)
  now += 5_000
  resolve()
  await expect(slowResult).rejects.toThrow('after its trust period had ended')
})

test('fetches again for an unknown kid, at most once a second', async () => {
  await expectFound('one')
  body = { keys: [jwkOne, jwkTwo], trust_seconds: 5 }
  now += 999
  await expectNotFound('two')
  expect(requestCount).toBe(1)
  now += 1
  await expectFound('two')
  expect(requestCount).toBe(2)
  for (let n = 0; n < 5; n += 1) await expectNotFound('three')
  expect(requestCount).toBe(2)
})

test('trusts a key set without trust_seconds for one second', async () => {
  body = { keys: [jwkOne] }
  await expectFound('one')
  body = { keys: [jwkTwo], trust_seconds: 5 }
  now += 1_000
  await expectNotFound('one')
})

// At most 60 s are allowed.
test.for(['long', 61, -1])('rejects a key set whose trust_seconds is %s', async (trustSeconds) => {
  body = { keys: [jwkOne], trust_seconds: trustSeconds }
  await expect(findKey('one')).rejects.toThrow('trust_seconds')
  // The rejected key set was not cached.
  body = { keys: [jwkTwo], trust_seconds: 5 }
  now += 1_000
  await expectNotFound('one')
})

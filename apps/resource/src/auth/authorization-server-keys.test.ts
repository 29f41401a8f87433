import { serve } from '@plainpath/http'
import { exportJWK, generateKeyPair } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAuthorizationServerClient } from './authorization-server-client.ts'
import { createAuthorizationServerKeys } from './authorization-server-keys.ts'

const resources = new AsyncDisposableStack()
let now = 0
let requestCount = 0
let holdUntil: Promise<void> | undefined
let status = 200
let body: { keys: unknown[]; trust_seconds?: unknown }
let url: string
let keys: ReturnType<typeof createAuthorizationServerKeys>

const createJwk = async (kid: string) => ({
  ...(await exportJWK((await generateKeyPair('ES256')).publicKey)),
  kid,
  alg: 'ES256',
})
const [one, two] = [await createJwk('one'), await createJwk('two')]
const findKey = async (kid: string) => keys({ alg: 'ES256', kid }, {} as never)
const expectFound = (kid: string) => expect(findKey(kid)).resolves.toBeDefined()
const expectMissing = (kid: string) => expect(findKey(kid)).rejects.toThrow(/./)

const server = resources.use(
  await serve(
    (_request, response) => {
      requestCount += 1
      void (holdUntil ?? Promise.resolve()).then(() => response.writeHead(status).end(JSON.stringify(body)))
    },
    { port: 0, host: '127.0.0.1', drainSeconds: 0 },
  ),
)
url = server.url
beforeEach(() => {
  ;[now, requestCount, status, holdUntil] = [100_000, 0, 200, undefined]
  body = { keys: [one], trust_seconds: 5 }
  keys = createAuthorizationServerKeys(createAuthorizationServerClient([url]), { clock: { now: () => now } })
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
  body = { keys: [two], trust_seconds: 5 }
  now += 2_499
  await expectFound('one')
  expect(requestCount).toBe(1)
  now = 105_000
  await expectMissing('one')
  await expectFound('two')
})

test('fetches the key set again in the background before its trust ends', async () => {
  await expectFound('one')
  now += 2_500
  const { promise, resolve } = Promise.withResolvers<void>()
  holdUntil = promise
  await expectFound('one')
  resolve()
  await expect.poll(() => requestCount).toBe(2)
})

test('serves cached keys while the endpoint is down, until their trust ends', async () => {
  await expectFound('one')
  status = 500
  for (const elapsedMs of [2_500, 2_800, 3_100, 4_999]) {
    now = 100_000 + elapsedMs
    await expectFound('one')
  }
  now = 105_000
  await expectMissing('one')
  status = 200
  await expectFound('one')
})

test('measures the time of trust from the start of the request', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  holdUntil = promise
  const slowResult = findKey('one')
  await expect.poll(() => requestCount).toBe(1)
  now += 5_000
  resolve()
  await expect(slowResult).rejects.toThrow('after its trust had ended')
})

test('fetches again for an unknown kid, at most once a second', async () => {
  await expectFound('one')
  body = { keys: [one, two], trust_seconds: 5 }
  now += 999
  await expectMissing('two')
  expect(requestCount).toBe(1)
  now += 1
  await expectFound('two')
  expect(requestCount).toBe(2)
  for (let n = 0; n < 5; n += 1) await expectMissing('three')
  expect(requestCount).toBe(2)
})

test.for([undefined, 'long', 61, -1])(
  'trusts a key set with trust_seconds %s for at most a second',
  async (trustSeconds) => {
    body = { keys: [one], trust_seconds: trustSeconds }
    await findKey('one').catch(() => undefined)
    body = { keys: [two], trust_seconds: 5 }
    now += 1_000
    await expectMissing('one')
  },
)

import { serve } from '@plainpath/http'
import { exportJWK, generateKeyPair } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askAuthorizationServer } from './ask-authorization-server.ts'
import { authorizationServerKeys } from './authorization-server-keys.ts'

const resources = new AsyncDisposableStack()
let now = 0
let asked = 0
let hold: Promise<void> | undefined
let status = 200
let body: { keys: unknown[]; trust_seconds?: unknown }
let url: string
let keys: ReturnType<typeof authorizationServerKeys>

const jwk = async (kid: string) => ({
  ...(await exportJWK((await generateKeyPair('ES256')).publicKey)),
  kid,
  alg: 'ES256',
})
const [one, two] = [await jwk('one'), await jwk('two')]
const get = async (kid: string) => keys({ alg: 'ES256', kid }, {} as never)
const known = (kid: string) => expect(get(kid)).resolves.toBeDefined()
const unknown = (kid: string) => expect(get(kid)).rejects.toThrow(/./)

const server = resources.use(
  await serve(
    (_request, response) => {
      asked += 1
      void (hold ?? Promise.resolve()).then(() => response.writeHead(status).end(JSON.stringify(body)))
    },
    { port: 0, host: '127.0.0.1', drainSeconds: 0 },
  ),
)
url = server.url
beforeEach(() => {
  ;[now, asked, status, hold] = [100_000, 0, 200, undefined]
  body = { keys: [one], trust_seconds: 5 }
  keys = authorizationServerKeys(askAuthorizationServer([url]), { clock: { now: () => now } })
})
afterEach(() => {
  hold = undefined
})

test('any number at once share one fetch', async () => {
  await Promise.all(Array.from({ length: 20 }, () => known('one')))
  expect(asked).toBe(1)
})

test('a set is believed for as long as it says, and not a moment longer', async () => {
  await known('one')
  body = { keys: [two], trust_seconds: 5 }
  now += 2_499
  await known('one')
  expect(asked).toBe(1)
  now = 105_000
  await unknown('one')
  await known('two')
})

test('it is fetched anew beside the requests, before it ends', async () => {
  await known('one')
  now += 2_500
  const { promise, resolve } = Promise.withResolvers<void>()
  hold = promise
  await known('one')
  resolve()
  await expect.poll(() => asked).toBe(2)
})

test('known keys serve while the endpoint is down, until the set ends', async () => {
  await known('one')
  status = 500
  for (const later of [2_500, 2_800, 3_100, 4_999]) {
    now = 100_000 + later
    await known('one')
  }
  now = 105_000
  await unknown('one')
  status = 200
  await known('one')
})

test('its time counts from before it was asked for', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  hold = promise
  const slow = get('one')
  await expect.poll(() => asked).toBe(1)
  now += 5_000
  resolve()
  await expect(slow).rejects.toThrow('too late')
})

test('an unknown kid fetches again, at most once a second', async () => {
  await known('one')
  body = { keys: [one, two], trust_seconds: 5 }
  now += 999
  await unknown('two')
  expect(asked).toBe(1)
  now += 1
  await known('two')
  expect(asked).toBe(2)
  for (let n = 0; n < 5; n += 1) await unknown('three')
  expect(asked).toBe(2)
})

test.for([undefined, 'long', 61, -1])(
  'a set that says %s is believed for a second at most',
  async (trust) => {
    body = { keys: [one], trust_seconds: trust }
    await get('one').catch(() => undefined)
    body = { keys: [two], trust_seconds: 5 }
    now += 1_000
    await unknown('one')
  },
)

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { loadConfig } from '@plainpath/auth/config'
import { createKeyOperations, type KeyOperations } from '@plainpath/auth/key-operations'
import { runAuth } from '@plainpath/auth/run-auth'
import { openStores } from '@plainpath/auth/stores'
import { createLog, type RequestHandler, serve } from '@plainpath/http'
import { loadConfig as loadResourceConfig } from '@plainpath/resource/config'
import { openResource } from '@plainpath/resource/wire'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { forgeIntrospection, type LeakedKey, parseKid } from './forge-introspection.ts'

/** Before a release, run ten times as many: KEY_ROTATIONS=100 KEY_RATE=200. */
const ROTATIONS = Number(process.env['KEY_ROTATIONS'] ?? 10)
const RATE = Number(process.env['KEY_RATE'] ?? 40)
const SETTINGS = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '1',
  AUTH_KEYS_POLL_SECONDS: '0.2',
  AUTH_KEYS_OVERLAP_SECONDS: '1',
  AUTH_KEYS_PERIOD_SECONDS: '0',
  AUTH_KEYS_LEASE_SECONDS: '10',
}
const TRUST_MS = 1_000 * Number(SETTINGS.AUTH_KEYS_TRUST_SECONDS)
const ANSWER_TYPE = 'application/token-introspection+jwt'

const resources = new AsyncDisposableStack()
const silent = createLog({ service: 'e2e', write: () => {} })
/** If set, creates the responses to introspections instead of the authorization server. */
let forge: ((token: string) => string) | undefined
let stack: Stack
let token: string

beforeAll(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-keys-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  stack = resources.use(await startStack({ folder, limitsFactor: 1_000_000, settings: SETTINGS }))
  const registered = (await (
    await fetch(`${stack.origin}/api/agent/register`, { method: 'POST' })
  ).json()) as Client
  const response = await fetch(`${stack.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: basic(registered.client_id, registered.client_secret) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  token = ((await response.json()) as { access_token: string }).access_token
})
afterAll(() => resources.disposeAsync())

interface Client {
  client_id: string
  client_secret: string
}
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

/** Starts an API whose introspections go through a proxy, on which the holder of a leaked key can forge responses. */
async function deceivedApi(authUrl: string): Promise<string> {
  const between: RequestHandler = async (request, response) => {
    const body = await text(request)
    if (request.url === '/oauth/introspect') {
      const forged = forge?.(new URLSearchParams(body).get('token') ?? '')
      return void response.writeHead(200, { 'content-type': ANSWER_TYPE }).end(forged)
    }
    const honest = await fetch(`${authUrl}${request.url}`)
    response.writeHead(honest.status).end(await honest.text())
  }
  const listening = { port: 0, host: '127.0.0.1', drainSeconds: 0 }
  const forger = resources.use(
    await serve(
      (request, response) => void Promise.resolve(between(request, response)).catch(() => response.destroy()),
      listening,
    ),
  )
  let handler: RequestHandler = (_request, response) => void response.writeHead(503).end()
  const { port } = resources.use(await serve((request, response) => handler(request, response), listening))
  const config = loadResourceConfig({
    ...stack.env,
    RESOURCE_AUTH_URL: forger.url,
    RESOURCE_ALSO_ACCEPT_HOSTS: `127.0.0.1:${port}`,
  })
  const api = resources.use(await openResource(config, { log: silent, now: () => new Date() }))
  handler = api.handler
  return `http://127.0.0.1:${port}`
}

async function keys(...args: string[]) {
  const { code, printed, errors } = await runAuth(['keys', ...args, '--json'], stack.env)
  if (printed === '') throw new Error(errors)
  return { code, output: JSON.parse(printed) as Record<string, unknown> }
}
const signingKid = async () =>
  ((await keys('list')).output['keys'] as { kid: string; state: string }[]).find(
    ({ state }) => state === 'signing',
  )?.kid ?? ''

/** Sends requests without waiting for responses. */
function startLoad(perSecond: number) {
  const statuses = new Map<number | string, number>()
  const inFlight = new Set<Promise<void>>()
  const startedAt = performance.now()
  let sent = 0
  const send = async () => {
    const outcome = await fetch(`${stack.origin}/api/guides?limit=1`, {
      headers: { authorization: `Bearer ${token}` },
    }).then(
      async (response) => (await response.text(), response.status),
      (error: unknown) => String(error),
    )
    statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1)
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * perSecond
    for (; sent < due; sent += 1) {
      const one = send().finally(() => inFlight.delete(one))
      inFlight.add(one)
    }
  }, 10)
  return async () => {
    clearInterval(timer)
    await Promise.all(inFlight)
    const seconds = (performance.now() - startedAt) / 1000
    return {
      statuses: Object.fromEntries(statuses),
      rate: Math.round(sent / seconds),
      seconds: Math.round(seconds),
    }
  }
}

const internals = () => stack.auth.map(({ ports }) => `http://127.0.0.1:${ports.internal}`)
const jwks = async (url: string) =>
  ((await (await fetch(`${url}/oauth/jwks.json`)).json()) as { keys: { kid: string }[] }).keys.map(
    ({ kid }) => kid,
  )

/** Checks that a key set of any instance, while it may be cached, has the key of each response that is signed later. */
function watchKeySets() {
  const missing: string[] = []
  const failed: string[] = []
  let checks = 0
  let stopped = false
  const introspectAs = resourceCredential()
  const checkUntilStopped = async () => {
    const authorization = await introspectAs
    while (!stopped) {
      const fetchedAt = performance.now()
      const sets = await Promise.all(internals().map(jwks))
      for (const url of internals()) {
        const response = await fetch(`${url}/oauth/introspect`, {
          method: 'POST',
          headers: { authorization, accept: ANSWER_TYPE },
          body: new URLSearchParams({ token }),
        })
        const answered = await response.text()
        checks += 1
        if (response.status !== 200) {
          failed.push(answered)
          continue
        }
        const kid = parseKid(answered)
        if (performance.now() - fetchedAt > TRUST_MS) continue
        const without = sets.filter((set) => !set.includes(kid))
        missing.push(...without.map((set) => `${kid} not in ${set.join(' ')}`))
      }
    }
  }
  const running = checkUntilStopped()
  return async () => {
    stopped = true
    await running
    return { missing, failed, checks }
  }
}
async function resourceCredential(): Promise<string> {
  const secret = (await readFile(stack.env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8')).trim()
  return basic(stack.env['RESOURCE_CLIENT_ID'] ?? '', secret)
}

/** Does the next step of a rotation, if one is due, and returns it when every instance has followed. */
async function oneStep(all: KeyOperations, algorithm: 'ES256' | 'EdDSA'): Promise<string | undefined> {
  const done = await all.rotate({ algorithm })
  if (!done.ok) throw new Error(done.error.reason)
  if ('next' in done.value) return undefined
  expect((await all.waitForInstances(done.value.ring.version)).behind).toEqual([])
  return done.value.change.step
}

test(`${ROTATIONS} rotations between ES256 and Ed25519 under ${RATE} requests a second: none fails`, async () => {
  const config = loadConfig(stack.env)
  const stopLoad = startLoad(RATE)
  const stopWatching = watchKeySets()
  let activations = 0
  const algorithms = new Set<string>()
  await using stores = await openStores(config, { log: silent, now: () => new Date() })
  const all = createKeyOperations({
    keys: stores.keys,
    settings: config.keys,
    by: { user: 'e2e', host: 'e2e' },
  })
  while (activations < ROTATIONS) {
    const algorithm = activations % 2 ? 'ES256' : 'EdDSA'
    let step: string | undefined
    await expect
      .poll(async () => (step = await oneStep(all, algorithm)), { interval: 20, timeout: 30_000 })
      .toBeDefined()
    if (step !== 'activate') continue
    activations += 1
    algorithms.add(algorithm)
  }
  const watched = await stopWatching()
  const load = await stopLoad()
  process.stdout.write(
    `\n${activations} rotations in ${load.seconds} s, ${JSON.stringify(load)}, ${watched.checks} checks of key sets\n`,
  )
  expect(watched.missing).toEqual([])
  expect(watched.failed).toEqual([])
  expect(Object.keys(load.statuses)).toEqual(['200'])
  expect(load.rate).toBeGreaterThanOrEqual(RATE * 0.95)
  expect(algorithms.size).toBe(2)
  expect((await keys('verify')).output).toMatchObject({ ok: true, instances: 2 })
}, 400_000)

test('once revoke has returned, no API accepts what the leaked key signs, and no instance signs with it', async () => {
  const leaked = await signingKid()
  const key = await leakedKey(leaked)
  const audience = stack.env['RESOURCE_CLIENT_ID'] ?? ''
  const mark = await revocationMark()
  forge = (asked) => forgeIntrospection(key, { token: asked, issuer: stack.origin, audience, mark })
  const attempts: { startedAt: number; status: number }[] = []
  let attacking = true
  const attack = async (origin: string) => {
    while (attacking) {
      const startedAt = performance.now()
      const response = await fetch(`${origin}/api/guides?limit=1`, {
        headers: { authorization: `Bearer ppt_${'A'.repeat(43)}` },
      })
      await response.text()
      attempts.push({ startedAt, status: response.status })
    }
  }
  const attackers = (await Promise.all(internals().map(deceivedApi))).map(attack)
  await expect.poll(() => attempts.filter(({ status }) => status === 200).length).toBeGreaterThan(20)
  const askedAt = performance.now()
  expect((await keys('revoke', leaked, '--reason', 'a drill')).code).toBe(0)
  const returned = performance.now()
  await expect.poll(() => attempts.filter(({ startedAt }) => startedAt > returned).length).toBeGreaterThan(50)
  attacking = false
  await Promise.all(attackers)
  forge = undefined
  const accepted = attempts.filter(({ status }) => status === 200)
  const last = Math.max(...accepted.map(({ startedAt }) => startedAt))
  process.stdout.write(
    `\nrevoke returned after ${Math.round(returned - askedAt)} ms; the last forged answer was accepted ${Math.round(last - askedAt)} ms after it was asked for; ${attempts.filter(({ startedAt }) => startedAt > returned).length} attempts later, none\n`,
  )
  expect(accepted.filter(({ startedAt }) => startedAt > returned)).toEqual([])
  for (const url of internals()) expect(await jwks(url)).not.toContain(leaked)
  const response = await fetch(`${stack.origin}/api/guides?limit=1`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
})

/** The current mark, which an attacker who can read the responses to an API knows. */
async function revocationMark(): Promise<string> {
  const redis = new Redis(stack.redis.adminUrl)
  const mark = await redis.hget('revocation:state', 'mark')
  redis.disconnect()
  return mark ?? ''
}

async function leakedKey(kid: string): Promise<LeakedKey> {
  await using stores = await openStores(loadConfig(stack.env), { log: silent, now: () => new Date() })
  const found = (await stores.keys.read()).keys.find((key) => key.kid === kid)
  return found?.privateJwk as LeakedKey
}

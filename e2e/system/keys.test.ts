import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { loadConfig } from '@plainpath/auth/config'
import { createKeyOperations, type KeyOperations } from '@plainpath/auth/key-operations'
import { runAuth } from '@plainpath/auth/run-auth'
import { openStores } from '@plainpath/auth/stores'
import { createLog, type RequestHandler, serve } from '@plainpath/http'
import { loadConfig as loadResourceConfig } from '@plainpath/resource/config'
import { openResource } from '@plainpath/resource/wire'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { forgeIntrospection, type LeakedKey, parseKid } from './forge-introspection.ts'

/** The number of rotations. Before a release, run the rotation test with KEY_ROTATIONS=100 KEY_RATE=200. */
const ROTATION_COUNT = Number(process.env['KEY_ROTATIONS'] ?? 10)
const REQUESTS_PER_SECOND = Number(process.env['KEY_RATE'] ?? 40)
/**
 * Settings with which a rotation takes seconds. No verifier may cache a key set for longer than a second, and the successor of a
 * key is always due.
 */
const SETTINGS = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '1',
  AUTH_KEYS_POLL_SECONDS: '0.2',
  AUTH_KEYS_OVERLAP_SECONDS: '1',
  AUTH_KEYS_PERIOD_SECONDS: '0',
  AUTH_KEYS_LEASE_SECONDS: '10',
}
/** How long an API may trust a key set that it has fetched. */
const TRUST_MS = 1_000 * Number(SETTINGS.AUTH_KEYS_TRUST_SECONDS)
const INTROSPECTION_TYPE = 'application/token-introspection+jwt'

const resources = new AsyncDisposableStack()
const silentLog = createLog({ service: 'e2e', write: () => {} })
/** Forges the introspection responses for the APIs of `startDeceivedApi`. If undefined, the responses are empty. */
let forge: ((token: string) => string) | undefined
let stack: Stack
/** A valid access token of an agent. */
let token: string

beforeAll(async () => {
  const { path: folder } = resources.use(await createTemporaryFolder('keys'))
  stack = resources.use(await startStack({ folder, limitsFactor: 1_000_000, settings: SETTINGS }))
  const agent = (await (
    await fetch(`${stack.origin}/api/agent/register`, { method: 'POST' })
  ).json()) as Client
  const response = await fetch(`${stack.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: basic(agent.client_id, agent.client_secret) },
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

/**
 * Starts an API behind a proxy that forwards its requests to auth, but responds to introspection itself, with `forge`. Returns the
 * API's origin.
 */
async function startDeceivedApi(authUrl: string): Promise<string> {
  const handleProxied: RequestHandler = async (request, response) => {
    const body = await text(request)
    if (request.url === '/oauth/introspect') {
      const forged = forge?.(new URLSearchParams(body).get('token') ?? '')
      return void response.writeHead(200, { 'content-type': INTROSPECTION_TYPE }).end(forged)
    }
    const authResponse = await fetch(`${authUrl}${request.url}`)
    response.writeHead(authResponse.status).end(await authResponse.text())
  }
  const serverOptions = { port: 0, host: '127.0.0.1', drainSeconds: 0 }
  const proxy = resources.use(
    await serve((request, response) => {
      Promise.resolve(handleProxied(request, response)).catch(() => response.destroy())
    }, serverOptions),
  )
  // The API needs its own port in its settings, so its listener starts first.
  let handler: RequestHandler = (_request, response) => void response.writeHead(503).end()
  const { port } = resources.use(
    await serve((request, response) => handler(request, response), serverOptions),
  )
  const config = loadResourceConfig({
    ...stack.env,
    RESOURCE_AUTH_URL: proxy.url,
    RESOURCE_ALSO_ACCEPT_HOSTS: `127.0.0.1:${port}`,
  })
  const api = resources.use(await openResource(config, { log: silentLog, now: () => new Date() }))
  handler = api.handler
  return `http://127.0.0.1:${port}`
}

/** Runs `auth keys` in this process. Returns the exit code and the parsed output. */
async function runKeysCommand(...args: string[]) {
  const { code, printed, errors } = await runAuth(['keys', ...args, '--json'], stack.env)
  if (printed === '') throw new Error(errors)
  return { code, output: JSON.parse(printed) as Record<string, unknown> }
}
async function readSigningKid(): Promise<string> {
  const { output } = await runKeysCommand('list')
  const keys = output['keys'] as { kid: string; state: string }[]
  return keys.find(({ state }) => state === 'signing')?.kid ?? ''
}

/**
 * Sends requests at a rate, without waiting for responses. Returns a function that stops the load, waits for
 * the responses, and returns their statuses and the rate.
 */
function startLoad(perSecond: number) {
  const statuses = new Map<number | string, number>()
  const inFlight = new Set<Promise<void>>()
  const startedAt = performance.now()
  let sentCount = 0
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
    const dueCount = ((performance.now() - startedAt) / 1000) * perSecond
    for (; sentCount < dueCount; sentCount += 1) {
      const completion = send().finally(() => inFlight.delete(completion))
      inFlight.add(completion)
    }
  }, 10)
  return async () => {
    clearInterval(timer)
    await Promise.all(inFlight)
    const seconds = (performance.now() - startedAt) / 1000
    return {
      statuses: Object.fromEntries(statuses),
      rate: Math.round(sentCount / seconds),
      seconds: Math.round(seconds),
    }
  }
}

const listInternalUrls = () => stack.auth.map(({ ports }) => `http://127.0.0.1:${ports.internal}`)
async function fetchKids(url: string): Promise<string[]> {
  const response = await fetch(`${url}/oauth/jwks.json`)
  const { keys } = (await response.json()) as { keys: { kid: string }[] }
  return keys.map(({ kid }) => kid)
}

/**
 * Repeatedly fetches the key set of each instance, and then introspects at each instance. While the key sets may be
 * cached (`TRUST_MS`), each must contain the key that signs the responses.
 *
 * @returns a function that stops the checks and returns what they found
 */
function watchKeySets() {
  const missingKeys: string[] = []
  const failedResponses: string[] = []
  let checkCount = 0
  let isStopped = false
  const checkUntilStopped = async () => {
    const authorization = await readApiCredentials()
    while (!isStopped) {
      const fetchedAt = performance.now()
      const sets = await Promise.all(listInternalUrls().map(fetchKids))
      for (const url of listInternalUrls()) {
        const response = await fetch(`${url}/oauth/introspect`, {
          method: 'POST',
          headers: { authorization, accept: INTROSPECTION_TYPE },
          body: new URLSearchParams({ token }),
        })
        const responseText = await response.text()
        checkCount += 1
        if (response.status !== 200) {
          failedResponses.push(responseText)
          continue
        }
        const kid = parseKid(responseText)
        // A key set that has been cached for longer need not contain the key.
        if (performance.now() - fetchedAt > TRUST_MS) continue
        const setsWithoutKey = sets.filter((set) => !set.includes(kid))
        missingKeys.push(...setsWithoutKey.map((set) => `${kid} not in ${set.join(' ')}`))
      }
    }
  }
  const checking = checkUntilStopped()
  return async () => {
    isStopped = true
    await checking
    return { missingKeys, failedResponses, checkCount }
  }
}
async function readApiCredentials(): Promise<string> {
  const secret = (await readFile(stack.env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8')).trim()
  return basic(stack.env['RESOURCE_CLIENT_ID'] ?? '', secret)
}

/**
 * Performs the next step of a rotation, and waits until every instance uses the changed ring.
 *
 * @returns the step; undefined if none is due yet
 */
async function rotateStep(
  operations: KeyOperations,
  algorithm: 'ES256' | 'EdDSA',
): Promise<string | undefined> {
  const rotation = await operations.rotate({ algorithm })
  if (!rotation.ok) throw new Error(rotation.error.reason)
  if ('next' in rotation.value) return undefined
  expect((await operations.waitForInstances(rotation.value.ring.version)).laggingInstances).toEqual([])
  return rotation.value.change.step
}

test(`no request fails in ${ROTATION_COUNT} rotations between ES256 and Ed25519 under ${REQUESTS_PER_SECOND} requests a second`, async () => {
  const config = loadConfig(stack.env)
  const stopLoad = startLoad(REQUESTS_PER_SECOND)
  const stopWatching = watchKeySets()
  let activationCount = 0
  const algorithms = new Set<string>()
  await using stores = await openStores(config, { log: silentLog, now: () => new Date() })
  const operations = createKeyOperations({
    keys: stores.keys,
    settings: config.keys,
    actor: { user: 'e2e', host: 'e2e' },
  })
  while (activationCount < ROTATION_COUNT) {
    const algorithm = activationCount % 2 ? 'ES256' : 'EdDSA'
    let step: string | undefined
    // `rotateStep` returns undefined until the next step is due.
    await expect
      .poll(async () => (step = await rotateStep(operations, algorithm)), { interval: 20, timeout: 30_000 })
      .toBeDefined()
    if (step !== 'activate') continue
    activationCount += 1
    algorithms.add(algorithm)
  }
  const keySetChecks = await stopWatching()
  const load = await stopLoad()
  process.stdout.write(
    `\n${activationCount} rotations in ${load.seconds} s, ${JSON.stringify(load)}, ${keySetChecks.checkCount} checks of key sets\n`,
  )
  expect(keySetChecks.missingKeys).toEqual([])
  expect(keySetChecks.failedResponses).toEqual([])
  expect(Object.keys(load.statuses)).toEqual(['200'])
  expect(load.rate).toBeGreaterThanOrEqual(REQUESTS_PER_SECOND * 0.95)
  expect(algorithms.size).toBe(2)
  expect((await runKeysCommand('verify')).output).toMatchObject({ ok: true, instances: 2 })
}, 400_000)

test('after `keys revoke` has returned, no API accepts responses signed with the key, and no instance publishes it', async () => {
  const leakedKid = await readSigningKid()
  const key = await readLeakedKey(leakedKid)
  const audience = stack.env['RESOURCE_CLIENT_ID'] ?? ''
  const revocationMark = await readRevocationMark()
  forge = (introspected) =>
    forgeIntrospection(key, { token: introspected, issuer: stack.origin, audience, revocationMark })
  const attempts: { startedAt: number; status: number }[] = []
  let isAttacking = true
  /** Repeatedly presents a token that auth never issued. The API accepts it only because of a forged response. */
  const attack = async (origin: string) => {
    while (isAttacking) {
      const startedAt = performance.now()
      const response = await fetch(`${origin}/api/guides?limit=1`, {
        headers: { authorization: `Bearer ppt_${'A'.repeat(43)}` },
      })
      await response.text()
      attempts.push({ startedAt, status: response.status })
    }
  }
  const attackers = (await Promise.all(listInternalUrls().map(startDeceivedApi))).map(attack)
  await expect.poll(() => attempts.filter(({ status }) => status === 200).length).toBeGreaterThan(20)
  const requestedAt = performance.now()
  expect((await runKeysCommand('revoke', leakedKid, '--reason', 'a drill')).code).toBe(0)
  const returnedAt = performance.now()
  await expect
    .poll(() => attempts.filter(({ startedAt }) => startedAt > returnedAt).length)
    .toBeGreaterThan(50)
  isAttacking = false
  await Promise.all(attackers)
  forge = undefined
  const acceptedAttempts = attempts.filter(({ status }) => status === 200)
  const lastAcceptedAt = Math.max(...acceptedAttempts.map(({ startedAt }) => startedAt))
  process.stdout.write(
    `\nrevoke returned after ${Math.round(returnedAt - requestedAt)} ms; the last accepted forged response was requested ${Math.round(lastAcceptedAt - requestedAt)} ms after revoke was called; ${attempts.filter(({ startedAt }) => startedAt > returnedAt).length} attempts began after it returned\n`,
  )
  expect(acceptedAttempts.filter(({ startedAt }) => startedAt > returnedAt)).toEqual([])
  for (const url of listInternalUrls()) expect(await fetchKids(url)).not.toContain(leakedKid)
  const response = await fetch(`${stack.origin}/api/guides?limit=1`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
})

/**
 * Reads the current revocation mark, the random id of the revocation state (docs/revocation/README.md). The API caches only
 * responses that contain it. An attacker could read it from any introspection response.
 */
async function readRevocationMark(): Promise<string> {
  const redis = new Redis(stack.redis.adminUrl)
  const mark = await redis.hget('revocation:state', 'mark')
  redis.disconnect()
  return mark ?? ''
}

/** Reads a signing key with its private part, which an attacker is supposed to have. */
async function readLeakedKey(kid: string): Promise<LeakedKey> {
  await using stores = await openStores(loadConfig(stack.env), { log: silentLog, now: () => new Date() })
  const storedKey = (await stores.keys.read()).keys.find((key) => key.kid === kid)
  return storedKey?.privateJwk as LeakedKey
}

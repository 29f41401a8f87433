import { randomUUID } from 'node:crypto'
import { REVOCATION } from '@plainpath/revocation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Fault } from '../faults/fault.ts'
import type { ProxiedConnection } from '../faults/fault-proxies.ts'
import { type FaultyStack, startFaultyStack } from '../faults/faulty-stack.ts'
import { type App, openApp } from '../hosts/app.ts'
import { connect } from '../hosts/connect.ts'
import { createPerson } from '../hosts/person.ts'
import { createAppRegistration } from '../hosts/scene.ts'
import { createKeyRequests, type KeyRequests } from '../key-holder.ts'
import { createRandom } from '../revocation/virtual-time.ts'
import { basic, createSender, form, json, type Sender } from '../send.ts'

/*
 * Tests R-LIN (docs/revocation/README.md): no request that begins after the response to a revocation succeeds with a revoked
 * token. Clients of all kinds obtain, use and revoke tokens at random while connections, Redis and API processes fail.
 */

/** The duration of the test. Before a release, run it with REVOCATION_SECONDS=3600 and a new REVOCATION_SEED. */
const SECONDS = Number(process.env['REVOCATION_SECONDS'] ?? 25)
/** Seeds the random choices. The loops share the generator, so a run with the same seed may still differ. */
const SEED = Number(process.env['REVOCATION_SEED'] ?? 1)
/** The number of loops that each obtain a token and revoke it, with one client at a time. */
const CLIENT_COUNT = 6
/** The number of people who sign in with an app before the faults begin. */
const PEOPLE_COUNT = 8
const REDIRECT_URI = 'http://localhost:8787/callback'

const resources = new AsyncDisposableStack()
const random = createRandom(SEED)
let system: FaultyStack
let authSenders: Sender[]
let apiSenders: Sender[]
let operationsSenders: Sender[]
let requests: KeyRequests
let app: App
/** The people who have not become a client of a loop yet. `createClient` takes them from here. */
const people: ConnectedPerson[] = []

beforeAll(async () => {
  system = resources.use(await startFaultyStack({ limitsFactor: 1_000_000 }))
  const { origin } = system.stack
  app = resources.use(await openApp({ origin, registration: createAppRegistration(REDIRECT_URI) }))
  people.push(...(await Promise.all(Array.from({ length: PEOPLE_COUNT }, connectPerson))))
  requests = createKeyRequests(system.stack.origin)
  const openSender = (port: number) => resources.use(createSender(`http://127.0.0.1:${port}`))
  authSenders = system.stack.auth.map(({ ports }) => openSender(ports.public))
  apiSenders = system.stack.resource.map(({ ports }) => openSender(ports.public))
  operationsSenders = system.stack.resource.map(({ ports }) => openSender(ports.operations))
})
afterAll(() => resources.disposeAsync())

/** A person's connection to the app. */
interface ConnectedPerson {
  refreshToken: string
  /** The secret in the mailed link that ends the access. */
  readonly endSecret: string
}
async function connectPerson(): Promise<ConnectedPerson> {
  using person = createPerson({ origin: system.stack.origin, mail: system.mail })
  const { refreshToken } = await connect(app, person, { redirectUri: REDIRECT_URI })
  return { refreshToken, endSecret: new URL(await person.waitForEndLink()).searchParams.get('end') ?? '' }
}

interface Client {
  readonly client_id: string
  /** Present if the client is an app that a person connected. */
  readonly person?: ConnectedPerson
  /** Absent for a client with a document, which has a key instead. */
  readonly client_secret?: string
}
interface IssuedToken {
  readonly value: string
  /** `bound` tokens need a DPoP proof. A `person’s` token belongs to the connection of a person with the app. */
  readonly kind: 'bearer' | 'bound' | 'person’s'
}
interface Use {
  readonly token: string
  readonly startedAt: number
  readonly status: number
}

const pickOne = <T>(list: readonly T[]): T => list[random.below(list.length)]!
const send = (sender: Sender, request: Parameters<Sender['send']>[0]) =>
  sender.send({ ...request, headers: { host: new URL(system.stack.origin).host, ...request.headers } })
const post = (
  path: string,
  client: Client,
  fields: Record<string, string>,
  dpop: Readonly<Record<string, string>> = {},
) =>
  send(pickOne(authSenders), {
    method: 'POST',
    path,
    ...form({ ...fields, ...createAuthFields(client) }),
    headers: { ...form(fields).headers, ...dpop, ...createBasicHeader(client) },
  })
/**
 * Returns the form fields that identify or authenticate a client. An agent with a secret has none: it sends `createBasicHeader`.
 */
const createAuthFields = (client: Client) => {
  if (client.person) return { client_id: client.client_id }
  return client.client_secret === undefined ? requests.createAuthFields(toKeyHolder(client)) : {}
}
/** Combines a client with the key that all documents contain, and to which the bound tokens of all clients are bound. */
const toKeyHolder = ({ client_id }: Client) => ({ client_id, key: system.documentKey })
const createBasicHeader = ({ client_id, client_secret }: Client) =>
  client_secret === undefined ? {} : basic(client_id, client_secret)
const createAuthHeader = (client: Client) =>
  client.client_secret === undefined
    ? requests.createAuthHeader(toKeyHolder(client))
    : createBasicHeader(client)

/** Creates a client of a random kind: the app of a connected person, an agent with a document, or a registered agent. */
async function createClient(): Promise<Client> {
  const person = random.happens(0.4) ? people.pop() : undefined
  if (person) return { client_id: app.clientId, person }
  if (random.happens(0.3)) return { client_id: system.documents.createUrl(randomUUID()) }
  const { text } = await send(pickOne(authSenders), { method: 'POST', path: '/api/agent/register' })
  return JSON.parse(text) as Client
}
/** Requests a token. Returns undefined if the request is refused. */
async function obtainToken(client: Client): Promise<IssuedToken | undefined> {
  if (client.person) return refresh(client, client.person)
  const isBound = random.happens(0.5)
  const requestToken = (dpop: Readonly<Record<string, string>>) =>
    post('/oauth/token', client, { grant_type: 'client_credentials' }, dpop)
  const createProof = (nonce?: string) => ({
    dpop: system.documentKey.signProof({ method: 'POST', url: `${system.stack.origin}/oauth/token`, nonce }),
  })
  // The endpoint refuses a proof without its current nonce, and sends the nonce (RFC 9449 §8).
  let response = await requestToken(isBound ? createProof() : {})
  const nonce = response.headers.get('dpop-nonce')
  if (nonce !== null && response.status === 400) response = await requestToken(createProof(nonce))
  if (response.status !== 200) return undefined
  const { access_token: value } = JSON.parse(response.text) as { access_token: string }
  return { value, kind: isBound ? 'bound' : 'bearer' }
}
/** Refreshes the tokens of a person's connection. If the response is lost, the next call uses the old refresh token within its grace period. */
async function refresh(client: Client, person: ConnectedPerson): Promise<IssuedToken | undefined> {
  const fields = { grant_type: 'refresh_token', refresh_token: person.refreshToken }
  const { status, text } = await post('/oauth/token', client, fields)
  if (status !== 200) return undefined
  const tokens = JSON.parse(text) as { access_token: string; refresh_token: string }
  person.refreshToken = tokens.refresh_token
  return { value: tokens.access_token, kind: 'person’s' }
}

const LIST_TOOLS = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
/** Reads the guides with a token or, with a token of a person's connection, lists the tools of the MCP server. */
function useToken(api: Sender, { value, kind }: IssuedToken): Promise<{ readonly status: number }> {
  if (kind !== 'person’s') {
    const path = '/api/guides?limit=1'
    const isBound = kind === 'bound'
    // The headers do not contain the client id.
    return send(api, {
      path,
      headers: requests.createTokenHeaders(toKeyHolder({ client_id: '' }), value, '/api/guides', { isBound }),
    })
  }
  const headers = {
    ...json(LIST_TOOLS).headers,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
    authorization: `Bearer ${value}`,
  }
  return send(api, { method: 'POST', path: '/mcp', headers, body: LIST_TOOLS })
}

/** Revokes all tokens of a client: the person ends the access, or the agent deletes itself. */
const revokeClient = (client: Client) =>
  client.person
    ? send(pickOne(authSenders), {
        method: 'POST',
        path: '/claim',
        ...form({ end: client.person.endSecret }),
      })
    : send(pickOne(authSenders), { method: 'DELETE', path: '/api/agent', headers: createAuthHeader(client) })

const CONNECTION_FAULTS: readonly Fault[] = [
  { kind: 'latency', ms: 5, jitterMs: 5 },
  { kind: 'latency', ms: 60, jitterMs: 55 },
  { kind: 'latency', ms: 600, jitterMs: 500 },
  { kind: 'half-open' },
  { kind: 'drop-replies' },
  { kind: 'stop-reading' },
  { kind: 'reset' },
]
/** The connections to disturb. The connection of the API to Redis is listed twice, so that it is chosen more often. */
const CONNECTIONS: readonly ProxiedConnection[] = ['api redis', 'api redis', 'auth redis', 'introspection']

/** Incidents of Redis and of API processes. When `cause` resolves, the affected process runs again. */
const INCIDENTS: readonly { readonly description: string; cause(): Promise<unknown> }[] = [
  { description: 'FLUSHALL', cause: () => system.redis.flushall() },
  {
    description: 'restart',
    async cause() {
      await system.stack.redis.stop('SIGKILL')
      await system.stack.redis.start()
    },
  },
  {
    description: 'failover to an older copy',
    async cause() {
      const olderCopy = await Promise.all(
        (await system.redis.keys('*')).map(async (key) => ({
          key,
          dump: await system.redis.dumpBuffer(key),
        })),
      )
      await pause(random.between(0, 1_000))
      // Nothing listens on port 9. When Redis becomes a primary again, it has a new replication ID, as after a real failover.
      await system.redis.replicaof('127.0.0.1', 9)
      await system.redis.replicaof('NO', 'ONE')
      for (const { key, dump } of olderCopy) if (dump) await system.redis.restore(key, 0, dump, 'REPLACE')
    },
  },
  {
    description: 'an API is suspended',
    async cause() {
      const { child } = pickOne(system.stack.resource)
      child.kill('SIGSTOP')
      await pause(random.between(500, 2 * REVOCATION.intervals.leaseMs))
      child.kill('SIGCONT')
    },
  },
]

let isRunning = true
const pause = async (ms: number) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  // oxlint-disable-next-line no-restricted-globals -- a random pause between faults
  setTimeout(resolve, ms)
  await promise
}

/** Injects faults and causes incidents, one at a time. Counts them by description. */
async function injectFaults(counts: Map<string, number>): Promise<void> {
  const count = (description: string) => counts.set(description, (counts.get(description) ?? 0) + 1)
  while (isRunning) {
    if (random.happens(0.35)) {
      const incident = pickOne(INCIDENTS)
      count(incident.description)
      await incident.cause()
    } else {
      const [fault, connection] = [pickOne(CONNECTION_FAULTS), pickOne(CONNECTIONS)]
      count(`${connection}: ${fault.kind}`)
      await system.setFault(fault, connection)
      await pause(random.between(200, 2_500))
      await system.setFault({ kind: 'pass' }, connection)
    }
    await pause(random.between(100, 1_200))
  }
}

test(`R-LIN holds for ${SECONDS} s with faulty connections, lost Redis data, and suspended API processes`, {
  timeout: (SECONDS + 60) * 1_000,
}, async () => {
  const uses: Use[] = []
  /** When the response to the revocation of a token arrived, by token. */
  const revokedAt = new Map<string, number>()
  const statuses = new Map<string, number>()
  const faultCounts = new Map<string, number>()
  const countStatus = (description: string) => statuses.set(description, (statuses.get(description) ?? 0) + 1)
  const tokensInUse: IssuedToken[] = []

  // Four loops use tokens at each API process. Status 0 means that no response arrived.
  const useLoops = apiSenders.flatMap((api) =>
    [0, 1, 2, 3].map(async () => {
      while (isRunning) {
        const token = tokensInUse.length > 0 ? pickOne(tokensInUse) : undefined
        if (token === undefined) {
          await pause(5)
          continue
        }
        const startedAt = performance.now()
        const { status } = await useToken(api, token).catch(() => ({ status: 0 }))
        uses.push({ token: token.value, startedAt, status })
        countStatus(`use ${token.kind} ${status}`)
      }
    }),
  )
  const revocationLoops = Array.from({ length: CLIENT_COUNT }, async () => {
    let client = await createClient()
    while (isRunning) {
      const token = await obtainToken(client).catch(() => undefined)
      if (token === undefined) {
        await pause(20)
        continue
      }
      tokensInUse.push(token)
      await pause(random.between(20, 800))
      const revokesClient = random.happens(0.15)
      const response = await (revokesClient
        ? revokeClient(client)
        : post('/oauth/revoke', client, { token: token.value })
      ).catch(() => ({ status: 0 }))
      countStatus(`${revokesClient ? 'end' : 'revoke'} ${client.person ? 'person’s ' : ''}${response.status}`)
      // Only an acknowledged revocation must hold. The deletion of an agent responds with 204, and the others with 200.
      if (response.status === (revokesClient && !client.person ? 204 : 200))
        revokedAt.set(token.value, performance.now())
      if (revokesClient) client = await createClient().catch(() => client)
      // The token stays in use for a while, so that requests begin after its revocation.
      await pause(random.between(50, 1_000))
      tokensInUse.splice(tokensInUse.indexOf(token), 1)
    }
  })
  const faultLoop = injectFaults(faultCounts)
  await pause(SECONDS * 1_000)
  isRunning = false
  await Promise.all([...useLoops, ...revocationLoops, faultLoop])
  const lateSuccesses = uses.filter(
    ({ token, startedAt, status }) =>
      status === 200 && startedAt > (revokedAt.get(token) ?? Number.POSITIVE_INFINITY),
  )
  const hits = await Promise.all(operationsSenders.map(readCacheHits))
  process.stdout.write(
    `\n${revokedAt.size} revocations acknowledged, ${uses.length} requests, ${hits.join(' + ')} from the cache (seed ${SEED})\n` +
      `${JSON.stringify(Object.fromEntries([...statuses].sort()))}\n${JSON.stringify(Object.fromEntries([...faultCounts].sort()))}\n`,
  )
  expect(lateSuccesses).toEqual([])
  // The rest shows that the test exercised what it promises: revocations, each kind of token, and the cache of each API process.
  expect(revokedAt.size).toBeGreaterThan(SECONDS / 2)
  for (const kind of ['bearer', 'bound', 'person’s'])
    expect(statuses.get(`use ${kind} 200`)).toBeGreaterThan(20)
  expect(Math.min(...hits)).toBeGreaterThan(20)
})

/** Reads how many introspections an API process has served from its cache. Returns NaN if the metric is missing. */
async function readCacheHits(sender: Sender): Promise<number> {
  const { text } = await sender.send({ path: '/metrics' })
  return Number(/^introspection_cache_hits_total(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1])
}

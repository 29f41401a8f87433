import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type AgentDocuments, startAgentDocuments, type UrlAgent } from '@plainpath/auth/agent-documents'
import { runAuth } from '@plainpath/auth/run-auth'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT_TYPE } from '@plainpath/metadata'
import { openPool } from '@plainpath/postgres'
import { waitUntil } from '@plainpath/stack/managed-process'
import type { JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAgentKey } from '../agent-key.ts'
import { explainIfBusy, REPEAT_IF_BUSY } from '../faults/repeat-if-busy.ts'
import { createKeyRequests, type KeyHolder, type KeyRequests } from '../key-holder.ts'
import { form, json, type Sender } from '../send.ts'
import { createMailSettings, findLink, showCode, waitForMailedLink } from '../verification-steps.ts'
import { openSystem, type System } from './open-system.ts'
import { useEverywhere } from './revocation.ts'
import { createListenerSenders, describeStolenTokens, SCRIPT_SETTINGS } from './stolen-tokens.ts'

/*
 * Agents that authenticate with a key, and tokens that are bound to that key (DPoP), with two processes of each app.
 * Some agents register their key. Others do not register: their client id is the URL of a document with the key.
 */

const AUTH_MAIN = fileURLToPath(new URL('../../apps/auth/src/main.ts', import.meta.url))

const resources = new AsyncDisposableStack()
let documents: AgentDocuments
let mailServer: MailServer
let system: System
let requests: KeyRequests
beforeAll(async () => {
  documents = resources.use(await startAgentDocuments())
  mailServer = resources.use(await startMailServer())
  system = resources.use(
    await openSystem({
      documents,
      limitsFactor: 10_000,
      settings: { ...createMailSettings(mailServer), ...SCRIPT_SETTINGS },
    }),
  )
  requests = createKeyRequests(system.origin)
})
afterAll(() => resources.disposeAsync())

interface UrlHolder extends KeyHolder {
  readonly document: UrlAgent<object>
}

/** Publishes the document of a new agent. */
function publishAgent(options: { hostname?: string } = {}): UrlHolder {
  const key = createAgentKey()
  const document = documents.publish([{ jwk: key.publicJwk as JWK }], options)
  return { client_id: document.client_id, key, document }
}

/** Registers a new agent whose tokens must be bound to its key. */
async function registerAgent(): Promise<KeyHolder> {
  const key = createAgentKey()
  const content = json({ jwks: { keys: [key.publicJwk] }, dpop_bound_access_tokens: true })
  const { text } = await system
    .createSender({ from: '127.0.0.21' })
    .send({ method: 'POST', path: '/api/agent/register', ...content })
  const { client_id } = JSON.parse(text) as { client_id: string }
  return { client_id, key }
}

async function issueToken(holder: KeyHolder, isBound: boolean, sender: Sender): Promise<string> {
  const { status, text } = await requests.requestToken(sender, holder, { isBound })
  expect(status, text).toBe(200)
  return (JSON.parse(text) as { access_token: string }).access_token
}

const createSendersTo = (app: 'auth' | 'resource') => createListenerSenders(system, app)

/** Runs a command of auth as a process that trusts the certificate authority of the documents. @throws if it fails */
async function runAsProcess(...words: readonly string[]): Promise<{ status: number }> {
  const NODE_EXTRA_CA_CERTS = path.join(system.folder, 'documents.pem')
  await promisify(execFile)(process.execPath, [AUTH_MAIN, ...words], {
    env: { ...system.stack.env, NODE_EXTRA_CA_CERTS },
  })
  return { status: 0 }
}

/** Runs a command of auth in this process. */
const runInProcess = async (...words: readonly string[]) => {
  const { code, errors } = await runAuth(words, system.stack.env)
  expect(code, errors).toBe(0)
  return { status: code }
}

test('an agent with a document gets a token and reads a guide with two requests through the gateway', async () => {
  const agent = publishAgent()
  const gateway = system.createSender({ from: '127.0.0.20' })
  const grant = form({ grant_type: 'client_credentials', ...requests.createAuthFields(agent) })
  const tokenResponse = await gateway.send({ method: 'POST', path: '/oauth/token', ...grant })
  const { access_token: token } = JSON.parse(tokenResponse.text) as { access_token: string }
  const guide = await gateway.send({
    path: '/api/guides/work-permit',
    headers: { authorization: `Bearer ${token}` },
  })
  expect([tokenResponse.status, guide.status]).toEqual([200, 200])
  expect(JSON.parse(guide.text)).toMatchObject({ slug: 'work-permit' })
  expect(agent.document.countFetches()).toBe(1)
  // The guide is public, but the API refuses a token that was never issued. So it has checked the token above.
  const forged = { authorization: `Bearer ppt_${'A'.repeat(43)}` }
  expect((await gateway.send({ path: '/api/guides/work-permit', headers: forged })).status).toBe(401)
})

test('both processes of auth and both of the API serve an agent whose document was fetched once', async () => {
  const agent = publishAgent()
  for (const auth of createSendersTo('auth'))
    for (const isBound of [false, true]) {
      const token = await issueToken(agent, isBound, auth)
      for (const api of createSendersTo('resource')) {
        const headers = requests.createTokenHeaders(agent, token, '/api/guides', { isBound })
        expect((await api.send({ path: '/api/guides', headers })).status).toBe(200)
      }
    }
  expect(agent.document.countFetches()).toBe(1)
})

test('exactly one of twenty simultaneous uses of a proof at two processes of the API succeeds', async () => {
  const agent = await registerAgent()
  const token = await issueToken(agent, true, system.createSender({ from: '127.0.0.21' }))
  const apis = createSendersTo('resource')
  const readSimultaneously = async (headers: Readonly<Record<string, string>>) =>
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { status } = await apis[index % apis.length]!.send({ path: '/api/guides', headers })
        return status
      }),
    )
  // Both processes cache the introspection first, so that it delays neither of them.
  for (const api of apis) {
    const headers = requests.createTokenHeaders(agent, token, '/api/guides', { isBound: true })
    expect((await api.send({ path: '/api/guides', headers })).status).toBe(200)
  }
  for (let round = 0; round < 5; round += 1) {
    const statuses = await readSimultaneously(
      requests.createTokenHeaders(agent, token, '/api/guides', { isBound: true }),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 401)).toHaveLength(19)
  }
})

describeStolenTokens(() => ({ system, publishAgent, issueToken }))

const SLOW_DOCUMENT_COUNT = 40
/** The slow documents are at these subdomains of `clients.test`, and at that domain itself. */
const SLOW_SUBDOMAINS = ['', 'agents.', 'deep.agents.', 'other.']
/** Less than the two seconds that the fetch of a document may take. Other clients must not wait for a fetch. */
const UNAFFECTED_MS = 1_900

/** Counts the attempts of the test below. Each has an abuser with an address of its own, because limits count the requests of an address. */
let attemptCount = 0

test(
  `other clients are served while one address requests tokens for ${SLOW_DOCUMENT_COUNT} documents that never arrive`,
  { retry: REPEAT_IF_BUSY },
  explainIfBusy(async () => {
    const hostname = 'notagents.clients.test'
    const storedAgent = publishAgent({ hostname })
    const registeredAgent = await registerAgent()
    await issueToken(storedAgent, false, system.createSender({ from: '127.0.0.24' }))
    const slowAgents = Array.from({ length: SLOW_DOCUMENT_COUNT }, (_, index) => {
      const holder = publishAgent({
        hostname: `${SLOW_SUBDOMAINS[index % SLOW_SUBDOMAINS.length]}clients.test`,
      })
      holder.document.hang()
      return holder
    })
    const abuser = system.createSender({ from: `127.0.1.${(attemptCount += 1)}` })
    const abusiveRequests = Promise.all(
      slowAgents.map((holder) => requests.requestToken(abuser, holder, { isBound: false })),
    )
    // It is awaited below. A rejection before that must not count as unhandled.
    abusiveRequests.catch(() => undefined)
    await expect.poll(() => slowAgents.some(({ document }) => document.countFetches() > 0)).toBe(true)
    const otherResponses = await Promise.all([
      ...[publishAgent({ hostname }), publishAgent({ hostname }), storedAgent].map((holder) =>
        requests.requestToken(system.createSender({ from: '127.0.0.26' }), holder, { isBound: false }),
      ),
      requests.requestToken(system.createSender({ from: '127.0.0.27' }), registeredAgent, { isBound: true }),
      system.createSender({ from: '127.0.0.28' }).send({ path: '/api/guides' }),
    ])
    expect(otherResponses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(Math.max(...otherResponses.map(({ ms }) => ms))).toBeLessThan(UNAFFECTED_MS)

    const refusals = await abusiveRequests
    const statuses = refusals.map(({ status }) => status)
    expect(statuses.filter((status) => status !== 401 && status !== 429)).toEqual([])
    // An address may have two fetches in flight at each of the two processes. Further requests get 429.
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(SLOW_DOCUMENT_COUNT - 8)
    expect(Math.max(...refusals.map(({ ms }) => ms))).toBeLessThan(5_000)
    await using db = openPool(system.adminUrls.auth, { max: 1 })
    const ids = slowAgents.map(({ client_id }) => client_id)
    expect((await db.query('select from agents where id = any($1)', [ids])).rowCount).toBe(0)
  }),
)

const MAIL_TIMEOUT_MS = 20_000

/**
 * Lets a person verify their e-mail address for the agent.
 *
 * @returns the identity assertion, and the secret in the mailed link that ends the access
 */
async function verifyEmail(
  holder: KeyHolder,
  sender: Sender,
): Promise<{ assertion: string; endSecret: string }> {
  const email = system.createEmail()
  const post = async (endpoint: string, body: object) => {
    const content = json(body)
    const headers = { ...content.headers, ...requests.createAuthHeader(holder) }
    const { text } = await sender.send({ method: 'POST', path: endpoint, ...content, headers })
    return JSON.parse(text) as Record<string, string>
  }
  const { match_phrase: phrase = '' } = await post('/api/agent/claim', { email })
  const otp = await showCode(sender, await waitForMailedLink({ mail: mailServer }, email, phrase))
  const { identity_assertion: assertion = '' } = await post('/api/agent/claim/complete', { otp })
  const findEndSecret = () =>
    mailServer.received
      .filter(({ to }) => to.includes(email))
      .map(({ text }) => new URL(findLink(text, 'end') || 'about:blank').searchParams.get('end'))
      .find((secret) => secret !== null)
  await waitUntil(() => findEndSecret() !== undefined, MAIL_TIMEOUT_MS)
  return { assertion, endSecret: findEndSecret() ?? '' }
}

test.for([
  ['that registered a key', registerAgent],
  ['with a document', async () => publishAgent()],
] as const)(
  'a bound token for contact:write of an agent %s is refused after the person ends the access',
  async ([_description, createAgent]) => {
    const sender = system.createSender({ from: '127.0.0.29' })
    const agent = await createAgent()
    await issueToken(agent, true, sender)
    const { assertion, endSecret } = await verifyEmail(agent, sender)
    const grant = { grant_type: JWT_BEARER_GRANT_TYPE, assertion }
    const tokenResponse = await requests.requestToken(sender, agent, { isBound: true, grant })
    const { access_token: token, scope } = JSON.parse(tokenResponse.text) as Record<string, string>
    expect(scope).toContain('contact:write')
    const readMessageStatus = async (isBound: boolean) =>
      await Promise.all(
        createSendersTo('resource').map(async (api) => {
          const messagePath = `/api/contact/${randomUUID()}`
          const headers = requests.createTokenHeaders(agent, token ?? '', messagePath, { isBound })
          return (await api.send({ path: messagePath, headers })).status
        }),
      )
    expect(await readMessageStatus(true)).toEqual([404, 404])
    expect(await readMessageStatus(false)).toEqual([401, 401])
    // After its first bound token for this scope, an agent gets no unbound one.
    const unboundResponse = await requests.requestToken(sender, agent, { isBound: false, grant })
    expect([unboundResponse.status, JSON.parse(unboundResponse.text).error]).toEqual([
      400,
      'invalid_dpop_proof',
    ])

    const endForm = form({ end: endSecret, answer: 'yes' })
    const page = await sender.send({ method: 'POST', path: '/claim', ...endForm })
    expect(page.status, page.text).toBe(200)
    expect(await readMessageStatus(true)).toEqual([401, 401])
  },
)

/** A way to revoke a token, with the status of its response or the exit code of its command. */
interface RevocationCase {
  readonly description: string
  /** The kind of agent to which the case applies. Without it, the case applies to both kinds. */
  readonly onlyKind?: 'registered' | 'document'
  readonly status: number
  revoke(holder: KeyHolder, token: string, sender: Sender): Promise<{ status: number }>
}

const REVOCATIONS: readonly RevocationCase[] = [
  {
    description: 'the agent revokes it',
    status: 200,
    revoke: (holder, token, sender) => {
      const content = form({ token, ...requests.createAuthFields(holder) })
      return sender.send({ method: 'POST', path: '/oauth/revoke', ...content })
    },
  },
  {
    description: 'the agent deletes itself',
    status: 204,
    revoke: (holder, _token, sender) =>
      sender.send({ method: 'DELETE', path: '/api/agent', headers: requests.createAuthHeader(holder) }),
  },
  {
    description: 'the agent replaces its keys',
    onlyKind: 'registered',
    status: 200,
    revoke: (holder, _token, sender) => {
      const content = json({ keys: [createAgentKey().publicJwk] })
      const headers = { ...content.headers, ...requests.createAuthHeader(holder) }
      return sender.send({ method: 'PUT', path: '/api/agent/jwks', ...content, headers })
    },
  },
  {
    description: 'an operator revokes the tokens of the agent',
    status: 0,
    revoke: ({ client_id }) => runInProcess('stop', '--client', client_id, '--reason', 'a test'),
  },
  {
    description: 'an operator disables the agent',
    status: 0,
    revoke: ({ client_id }) => runInProcess('agents', 'disable', client_id),
  },
  {
    description: 'an operator revokes all tokens',
    status: 0,
    revoke: () => runInProcess('stop', '--all-tokens', '--reason', 'a test'),
  },
  {
    description: 'an operator refreshes the document, from which the agent has removed its key',
    onlyKind: 'document',
    status: 0,
    revoke: (holder) => {
      ;(holder as UrlHolder).document.setKeys({ jwk: createAgentKey().publicJwk })
      return runAsProcess('agents', 'refresh', holder.client_id)
    },
  },
  {
    description: 'an operator blocks the domain of the agent',
    onlyKind: 'document',
    status: 0,
    revoke: ({ client_id }) =>
      runInProcess('agents', 'block', new URL(client_id).hostname, '--reason', 'a test'),
  },
]

const HOLDERS = [
  {
    agentDescription: 'an agent that registered a key',
    kind: 'registered',
    isBound: true,
    createAgent: registerAgent,
  },
  {
    agentDescription: 'an agent with a document',
    kind: 'document',
    isBound: false,
    createAgent: async () => publishAgent(),
  },
  // The host differs from that of the agents above, because a case blocks their host.
  {
    agentDescription: 'an agent with a document',
    kind: 'document',
    isBound: true,
    createAgent: async () => publishAgent({ hostname: 'other.clients.test' }),
  },
] as const

const CASES = REVOCATIONS.flatMap((revocation) =>
  HOLDERS.filter(({ kind }) => (revocation.onlyKind ?? kind) === kind).map((holder) => ({
    ...revocation,
    ...holder,
    tokenDescription: holder.isBound ? 'a bound token' : 'a bearer token',
  })),
)

describe('R-LIN over two processes of each app, with keys:', () => {
  test.for(CASES)(
    '$tokenDescription of $agentDescription is refused after $description',
    async (revocationCase) => {
      const { createAgent, isBound, revoke, status: expectedStatus } = revocationCase
      const senders = [system.createSender({ from: '127.0.0.22' }), ...createSendersTo('auth')]
      // A command is sent to no server, so it is tested once.
      const isCommand = expectedStatus === 0
      for (const sender of isCommand ? senders.slice(0, 1) : senders) {
        const agent = await createAgent()
        const token = await issueToken(agent, isBound, system.createSender({ from: '127.0.0.23' }))
        const { uses, stop } = useEverywhere(system, token, () =>
          requests.createTokenHeaders(agent, token, '/api/guides', { isBound }),
        )
        onTestFinished(stop)
        await expect.poll(() => uses.filter(({ status }) => status === 200).length).toBeGreaterThan(10)
        const response = await revoke(agent, token, sender)
        const respondedAt = performance.now()
        expect(response.status).toBe(expectedStatus)
        await expect
          .poll(() => uses.filter(({ startedAt }) => startedAt > respondedAt).length)
          .toBeGreaterThan(10)
        await stop()
        const laterUses = uses.filter(({ startedAt }) => startedAt > respondedAt)
        expect(laterUses.filter(({ status }) => status !== 401)).toEqual([])
        expect(uses.filter(({ status }) => status !== 200 && status !== 401)).toEqual([])
      }
    },
  )
})

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type DocumentServer, startDocumentServer, type UrlAgent } from '@plainpath/auth/document-server'
import { runAuth } from '@plainpath/auth/run-auth'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { openPool } from '@plainpath/postgres'
import { waitUntil } from '@plainpath/stack/managed-process'
import type { JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAgentKey } from '../agent-key.ts'
import { type KeyHolder, type KeyRequests, keyRequests } from '../key-holder.ts'
import { linkIn, mailedLink, mailSettings, showCode } from '../lend-mailbox-to.ts'
import { form, json, type Sender } from '../send.ts'
import { openSystem, type System } from './open-system.ts'
import { useEverywhere } from './revocation.ts'
import { describeStolenTokens, publicListeners, scriptSettings } from './stolen-tokens.ts'

/*
 * Agents that authenticate with a key, and tokens that are bound to it (DPoP), over two processes of each app: an agent that is
 * known by the URL of its document registers nowhere.
 */

const AUTH_MAIN = fileURLToPath(new URL('../../apps/auth/src/main.ts', import.meta.url))

const resources = new AsyncDisposableStack()
let documents: DocumentServer
let mail: MailServer
let system: System
let requests: KeyRequests
beforeAll(async () => {
  documents = resources.use(await startDocumentServer())
  mail = resources.use(await startMailServer())
  system = resources.use(
    await openSystem({
      documents,
      limitsFactor: 10_000,
      settings: { ...mailSettings(mail), ...scriptSettings },
    }),
  )
  requests = keyRequests(system.origin)
})
afterAll(() => resources.disposeAsync())

interface UrlHolder extends KeyHolder {
  readonly document: UrlAgent<object>
}

function publish(options: { host?: string } = {}): UrlHolder {
  const key = createAgentKey()
  const document = documents.publish([{ jwk: key.publicJwk as JWK }], options)
  return { client_id: document.client_id, key, document }
}

async function register(): Promise<KeyHolder> {
  const key = createAgentKey()
  const body = json({ jwks: { keys: [key.publicJwk] }, dpop_bound_access_tokens: true })
  const { text } = await system
    .client({ from: '127.0.0.21' })
    .send({ method: 'POST', path: '/api/agent/register', ...body })
  const { client_id } = JSON.parse(text) as { client_id: string }
  return { client_id, key }
}

async function newToken(holder: KeyHolder, isBound: boolean, sender: Sender): Promise<string> {
  const { status, text } = await requests.requestToken(sender, holder, { isBound })
  expect(status, text).toBe(200)
  return (JSON.parse(text) as { access_token: string }).access_token
}

const processes = (app: 'auth' | 'resource') => publicListeners(system, app)

/** Runs a command as a process, which trusts the authority of the documents. */
async function runAsProcess(...words: readonly string[]): Promise<{ status: number }> {
  const NODE_EXTRA_CA_CERTS = path.join(system.folder, 'documents.pem')
  await promisify(execFile)(process.execPath, [AUTH_MAIN, ...words], {
    env: { ...system.stack.env, NODE_EXTRA_CA_CERTS },
  })
  return { status: 0 }
}

const runHere = async (...words: readonly string[]) => {
  const { code, errors } = await runAuth(words, system.stack.env)
  expect(code, errors).toBe(0)
  return { status: code }
}

test('an agent with a document and a key reads a guide with a token in two requests of its own, through the gateway', async () => {
  const agent = publish()
  const gateway = system.client({ from: '127.0.0.20' })
  const grant = form({ grant_type: 'client_credentials', ...requests.fields(agent) })
  const granted = await gateway.send({ method: 'POST', path: '/oauth/token', ...grant })
  const { access_token: token } = JSON.parse(granted.text) as { access_token: string }
  const guide = await gateway.send({
    path: '/api/guides/work-permit',
    headers: { authorization: `Bearer ${token}` },
  })
  expect([granted.status, guide.status]).toEqual([200, 200])
  expect(JSON.parse(guide.text)).toMatchObject({ slug: 'work-permit' })
  expect(agent.document.fetched()).toBe(1)
  // A token that nobody issued, so the token above was judged.
  const forged = { authorization: `Bearer ppt_${'A'.repeat(43)}` }
  expect((await gateway.send({ path: '/api/guides/work-permit', headers: forged })).status).toBe(401)
})

test('both processes of auth and both of the API serve an agent whose document was fetched once', async () => {
  const agent = publish()
  for (const auth of processes('auth'))
    for (const isBound of [false, true]) {
      const token = await newToken(agent, isBound, auth)
      for (const api of processes('resource')) {
        const headers = requests.present(agent, token, '/api/guides', { isBound })
        expect((await api.send({ path: '/api/guides', headers })).status).toBe(200)
      }
    }
  expect(agent.document.fetched()).toBe(1)
})

test('of twenty simultaneous uses of one proof at two processes of the API, one succeeds', async () => {
  const agent = await register()
  const token = await newToken(agent, true, system.client({ from: '127.0.0.21' }))
  const apis = processes('resource')
  const read = async (headers: Readonly<Record<string, string>>) =>
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { status } = await apis[index % apis.length]!.send({ path: '/api/guides', headers })
        return status
      }),
    )
  // Both have the introspection in memory, so that nothing delays one of them.
  for (const api of apis) {
    const headers = requests.present(agent, token, '/api/guides', { isBound: true })
    expect((await api.send({ path: '/api/guides', headers })).status).toBe(200)
  }
  for (let round = 0; round < 5; round += 1) {
    const statuses = await read(requests.present(agent, token, '/api/guides', { isBound: true }))
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 401)).toHaveLength(19)
  }
})

describeStolenTokens(() => ({ system, publish, newToken }))

const SLOW_URLS = 40
const SLOW_HOSTS = ['', 'agents.', 'deep.agents.', 'other.']
/** A fetch takes two seconds at most; others must not wait for one. */
const UNAFFECTED_MS = 1_900

test(`other clients do not notice an address that names ${SLOW_URLS} documents of servers that do not respond`, async () => {
  const host = 'notagents.clients.test'
  const known = publish({ host })
  const registered = await register()
  await newToken(known, false, system.client({ from: '127.0.0.24' }))
  const slow = Array.from({ length: SLOW_URLS }, (_, index) => {
    const holder = publish({ host: `${SLOW_HOSTS[index % SLOW_HOSTS.length]}clients.test` })
    holder.document.hang()
    return holder
  })
  const abuser = system.client({ from: '127.0.0.25' })
  const abuse = slow.map((holder) => requests.requestToken(abuser, holder, { isBound: false }))
  await expect.poll(() => slow.some(({ document }) => document.fetched() > 0)).toBe(true)
  const others = await Promise.all([
    ...[publish({ host }), publish({ host }), known].map((holder) =>
      requests.requestToken(system.client({ from: '127.0.0.26' }), holder, { isBound: false }),
    ),
    requests.requestToken(system.client({ from: '127.0.0.27' }), registered, { isBound: true }),
    system.client({ from: '127.0.0.28' }).send({ path: '/api/guides' }),
  ])
  expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(Math.max(...others.map(({ ms }) => ms))).toBeLessThan(UNAFFECTED_MS)

  const refused = await Promise.all(abuse)
  const statuses = refused.map(({ status }) => status)
  expect(statuses.filter((status) => status !== 401 && status !== 429)).toEqual([])
  // At most two fetches at once for an address, in each of two processes; four times as many for all these hosts.
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(SLOW_URLS - 8)
  expect(Math.max(...refused.map(({ ms }) => ms))).toBeLessThan(5_000)
  await using db = openPool(system.adminUrls.auth, { max: 1 })
  const ids = slow.map(({ client_id }) => client_id)
  expect((await db.query('select from agents where id = any($1)', [ids])).rowCount).toBe(0)
})

const MAILED_MS = 20_000

/** Lets a person verify their e-mail for the agent. @returns the assertion of the agent, and the link that ends the access */
async function confirm(holder: KeyHolder, sender: Sender): Promise<{ assertion: string; end: string }> {
  const email = system.newEmail()
  const post = async (where: string, body: object) => {
    const sent = json(body)
    const headers = { ...sent.headers, ...requests.header(holder) }
    const { text } = await sender.send({ method: 'POST', path: where, ...sent, headers })
    return JSON.parse(text) as Record<string, string>
  }
  const { match_phrase: phrase = '' } = await post('/api/agent/claim', { email })
  const otp = await showCode(sender, await mailedLink({ mail }, email, phrase))
  const { identity_assertion: assertion = '' } = await post('/api/agent/claim/complete', { otp })
  const end = () =>
    mail.received
      .filter(({ to }) => to.includes(email))
      .map(({ text }) => new URL(linkIn(text, 'end') || 'about:blank').searchParams.get('end'))
      .find((found) => found !== null)
  await waitUntil(() => end() !== undefined, MAILED_MS)
  return { assertion, end: end() ?? '' }
}

test.for([
  ['that registered a key', register],
  ['with a document', async () => publish()],
] as const)(
  'a bound token of an agent %s for contact:write ends with the confirmation of the person',
  async ([_who, open]) => {
    const sender = system.client({ from: '127.0.0.29' })
    const agent = await open()
    await newToken(agent, true, sender)
    const { assertion, end } = await confirm(agent, sender)
    const grant = { grant_type: JWT_BEARER_GRANT, assertion }
    const granted = await requests.requestToken(sender, agent, { isBound: true, grant })
    const { access_token: token, scope } = JSON.parse(granted.text) as Record<string, string>
    expect(scope).toContain('contact:write')
    const read = async (isBound: boolean) =>
      await Promise.all(
        processes('resource').map(async (api) => {
          const address = `/api/contact/${randomUUID()}`
          const headers = requests.present(agent, token ?? '', address, { isBound })
          return (await api.send({ path: address, headers })).status
        }),
      )
    expect(await read(true)).toEqual([404, 404])
    expect(await read(false)).toEqual([401, 401])
    // Without a proof, the scope is refused from now on.
    const unbound = await requests.requestToken(sender, agent, { isBound: false, grant })
    expect([unbound.status, JSON.parse(unbound.text).error]).toEqual([400, 'invalid_dpop_proof'])

    const ended = await sender.send({ method: 'POST', path: '/claim', ...form({ end, answer: 'yes' }) })
    expect(ended.status, ended.text).toBe(200)
    expect(await read(true)).toEqual([401, 401])
  },
)

/** Ends the access of an agent. */
interface End {
  readonly what: string
  /** Only for agents that registered, or only for those with a document. */
  readonly only?: 'registered' | 'document'
  readonly status: number
  end(holder: KeyHolder, token: string, sender: Sender): Promise<{ status: number }>
}

const ENDS: readonly End[] = [
  {
    what: 'revokes the token',
    status: 200,
    end: (holder, token, sender) => {
      const body = form({ token, ...requests.fields(holder) })
      return sender.send({ method: 'POST', path: '/oauth/revoke', ...body })
    },
  },
  {
    what: 'deletes itself',
    status: 204,
    end: (holder, _token, sender) =>
      sender.send({ method: 'DELETE', path: '/api/agent', headers: requests.header(holder) }),
  },
  {
    what: 'replaces its keys',
    only: 'registered',
    status: 200,
    end: (holder, _token, sender) => {
      const body = json({ keys: [createAgentKey().publicJwk] })
      const headers = { ...body.headers, ...requests.header(holder) }
      return sender.send({ method: 'PUT', path: '/api/agent/jwks', ...body, headers })
    },
  },
  {
    what: 'is stopped by an operator',
    status: 0,
    end: ({ client_id }) => runHere('stop', '--client', client_id, '--reason', 'a test'),
  },
  {
    what: 'is disabled by an operator',
    status: 0,
    end: ({ client_id }) => runHere('agents', 'disable', client_id),
  },
  {
    what: 'is among all that an operator stops',
    status: 0,
    end: () => runHere('stop', '--all-tokens', '--reason', 'a test'),
  },
  {
    what: 'has a document without its key, which an operator refreshes',
    only: 'document',
    status: 0,
    end: (holder) => {
      ;(holder as UrlHolder).document.changeKeys({ jwk: createAgentKey().publicJwk })
      return runAsProcess('agents', 'refresh', holder.client_id)
    },
  },
  {
    what: 'has a domain that an operator blocks',
    only: 'document',
    status: 0,
    end: ({ client_id }) => runHere('agents', 'block', new URL(client_id).hostname, '--reason', 'a test'),
  },
]

const HOLDERS = [
  { who: 'an agent that registered a key', kind: 'registered', isBound: true, open: register },
  { who: 'an agent with a document', kind: 'document', isBound: false, open: async () => publish() },
  // A host of its own, since one row blocks the host of the other.
  {
    who: 'an agent with a document',
    kind: 'document',
    isBound: true,
    open: async () => publish({ host: 'other.clients.test' }),
  },
] as const

const ROWS = ENDS.flatMap((end) =>
  HOLDERS.filter(({ kind }) => (end.only ?? kind) === kind).map((holder) => ({
    ...end,
    ...holder,
    token: holder.isBound ? 'a bound token' : 'a bearer token',
  })),
)

describe('R-LIN over two processes of each app, with keys:', () => {
  test.for(ROWS)('$token of $who that $what', async ({ open, isBound, end, status: expected }) => {
    const places = [system.client({ from: '127.0.0.22' }), ...processes('auth')]
    // A domain can be blocked once.
    for (const place of expected === 0 ? places.slice(0, 1) : places) {
      const agent = await open()
      const token = await newToken(agent, isBound, system.client({ from: '127.0.0.23' }))
      const { uses, stop } = useEverywhere(system, token, () =>
        requests.present(agent, token, '/api/guides', { isBound }),
      )
      onTestFinished(stop)
      await expect.poll(() => uses.filter(({ status }) => status === 200).length).toBeGreaterThan(10)
      const ended = await end(agent, token, place)
      const endedAt = performance.now()
      expect(ended.status).toBe(expected)
      await expect.poll(() => uses.filter(({ startedAt }) => startedAt > endedAt).length).toBeGreaterThan(10)
      await stop()
      const after = uses.filter(({ startedAt }) => startedAt > endedAt)
      expect(after.filter(({ status }) => status !== 401)).toEqual([])
      expect(uses.filter(({ status }) => status !== 200 && status !== 401)).toEqual([])
    }
  })
})

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  createCertificateAuthority,
  createClientDocument,
  createJsonHandler,
  type DocumentHost,
  startDocumentHost,
} from '@plainpath/auth/document-host'
import { getProblemKind, PROBLEM_CODES, type ProblemCode } from '@plainpath/http'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { AGENT_ERRORS, JWT_BEARER_GRANT_TYPE } from '@plainpath/metadata'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAgentKey } from '../agent-key.ts'
import { createMailSettings, findLink } from '../verification-steps.ts'
import { type System, startSystem } from './start-system.ts'

const DOMAIN = 'agent.example.org'
const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const resources = new AsyncDisposableStack()
let mailServer: MailServer
let system: System
let documentHost: DocumentHost
beforeAll(async () => {
  mailServer = resources.use(await startMailServer())
  const authority = await createCertificateAuthority()
  documentHost = resources.use(await startDocumentHost(await authority.issue([DOMAIN])))
  const env = {
    ...createMailSettings(mailServer),
    // In minutes. While a message is held, its agent can withdraw it.
    RESOURCE_CONTACT_HOLD: '10',
  }
  const settings = { AUTH_CLIENT_DOCUMENT_TEST_HOSTS: `${DOMAIN}:${documentHost.port}` }
  system = resources.use(
    await startSystem({ env, documents: { settings, documentOverrides: { ca: authority.pem } } }),
  )
})
afterAll(() => resources.disposeAsync())

interface Agent {
  readonly client_id: string
  readonly client_secret: string
}

interface RequestOptions {
  /** The agent whose id and secret authenticate the request. */
  readonly as?: Agent
  readonly token?: string
  readonly idempotencyKey?: string
  readonly clientAssertion?: string
  /** A DPoP proof. */
  readonly proof?: string
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
}

const send = (
  method: string,
  path: string,
  { as: agent, token, idempotencyKey, clientAssertion, proof, json, form }: RequestOptions = {},
) =>
  fetch(system.origin + path, {
    method,
    headers: {
      ...(agent && { authorization: `Basic ${btoa(`${agent.client_id}:${agent.client_secret}`)}` }),
      ...(token !== undefined && { authorization: `${proof === undefined ? 'Bearer' : 'DPoP'} ${token}` }),
      ...(proof !== undefined && { dpop: proof }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(clientAssertion !== undefined && { 'client-assertion': clientAssertion }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form && { body: new URLSearchParams(form) }),
  })

/** Returns the parsed body of a response. @throws {Error} if the status is not 2xx */
async function requireSuccess<T>(responsePromise: Promise<Response>): Promise<T> {
  const response = await responsePromise
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${text}`)
  return (text === '' ? {} : JSON.parse(text)) as T
}

const register = (json: unknown = {}) => requireSuccess<Agent>(send('POST', '/api/agent/register', { json }))
const CLIENT_CREDENTIALS = { grant_type: 'client_credentials' }
const requestToken = async (agent: Agent, form: Record<string, string> = CLIENT_CREDENTIALS) =>
  (await requireSuccess<{ access_token: string }>(send('POST', '/oauth/token', { as: agent, form })))
    .access_token

/**
 * Begins a verification. In the result, `press` presses a button of the page that the mailed link opens, and `readCode` presses
 * `yes` and reads the code from the next page.
 */
async function beginVerification(agent: Agent) {
  const email = `ana-${randomUUID()}@example.org`
  await requireSuccess(send('POST', '/api/agent/claim', { as: agent, json: { email } }))
  const findMail = () => mailServer.received.find(({ to }) => to.includes(email))
  await expect.poll(findMail).toBeDefined()
  const attempt = new URL(findLink(findMail()?.text ?? '', 'attempt')).searchParams.get('attempt') ?? ''
  const press = async (answer: 'yes' | 'no') =>
    (await send('POST', '/claim', { form: { attempt, answer } })).text()
  const readCode = async () =>
    /<code id="code">([\d ]+)</.exec(await press('yes'))?.[1]?.replaceAll(' ', '') ?? ''
  return { email, press, readCode }
}

const completeVerification = (agent: Agent, otp: string) =>
  send('POST', '/api/agent/claim/complete', { as: agent, json: { otp } })
/** Returns a code that differs from the given one. */
const makeWrongCode = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** Registers an agent, lets a person confirm it, and requests a token with `contact:write`. */
async function confirmAgent() {
  const agent = await register()
  const { readCode } = await beginVerification(agent)
  const otp = await readCode()
  const { identity_assertion: assertion } = await requireSuccess<{ identity_assertion: string }>(
    completeVerification(agent, otp),
  )
  const token = await requestToken(agent, { grant_type: JWT_BEARER_GRANT_TYPE, assertion })
  return { agent, otp, assertion, token }
}

const MESSAGE = { topic: 'question', message: 'When do I renew it?' }
const sendMessage = (token: string, idempotencyKey?: string, message = MESSAGE.message) =>
  send('POST', '/api/contact', {
    token,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    json: { ...MESSAGE, message },
  })

const agentKey = createAgentKey()
const signProof = (
  method: string,
  path: string,
  options: { token?: string; nonce?: string | undefined } = {},
) => agentKey.signProof({ method, url: system.origin + path, ...options })

/** Requests a token that is bound to `agentKey`, with the nonce that the service requires. */
async function requestBoundToken(agent: Agent): Promise<string> {
  const request = (nonce?: string) =>
    send('POST', '/oauth/token', {
      as: agent,
      form: CLIENT_CREDENTIALS,
      proof: signProof('POST', '/oauth/token', { nonce }),
    })
  const nonce = (await request()).headers.get('dpop-nonce') ?? ''
  return (await requireSuccess<{ access_token: string }>(request(nonce))).access_token
}

/** For each error code, a function that causes it in as few requests as possible, and returns the response with the error. */
const ERROR_REQUESTS: Readonly<Record<string, () => Promise<Response>>> = {
  'invalid-request': async () => send('POST', '/api/agent/claim', { as: await register(), json: {} }),
  // A name may have at most 200 characters.
  'invalid-client-metadata': () =>
    send('POST', '/api/agent/register', { json: { client_name: 'x'.repeat(201) } }),
  'unsupported-credential-type': () => send('POST', '/api/agent/register', { json: { type: 'other' } }),
  'unsupported-grant-type': async () =>
    send('POST', '/oauth/token', { as: await register(), form: { grant_type: 'password' } }),
  'invalid-scope': async () =>
    send('POST', '/oauth/token', {
      as: await register(),
      form: { ...CLIENT_CREDENTIALS, scope: 'contact:write' },
    }),
  'invalid-target': async () =>
    send('POST', '/oauth/token', {
      as: await register(),
      form: { ...CLIENT_CREDENTIALS, resource: 'https://other.example' },
    }),
  'invalid-client': async () =>
    send('GET', '/api/agent', { as: { ...(await register()), client_secret: 'pps_wrong' } }),
  'use-dpop-nonce': async () =>
    send('POST', '/oauth/token', {
      as: await register(),
      form: CLIENT_CREDENTIALS,
      proof: signProof('POST', '/oauth/token'),
    }),
  'invalid-dpop-proof': async () =>
    send('POST', '/oauth/token', { as: await register(), form: CLIENT_CREDENTIALS, proof: 'wrong' }),
  'dpop-proof-required': async () =>
    send('POST', '/oauth/token', {
      as: await register({ dpop_bound_access_tokens: true }),
      form: CLIENT_CREDENTIALS,
    }),
  'invalid-token-proof': async () => {
    const token = await requestBoundToken(await register())
    // The proof is for POST, the request is a GET.
    return send('GET', '/api/guides', { token, proof: signProof('POST', '/api/guides', { token }) })
  },
  'client-has-document': async () => {
    const client_id = documentHost.getUrl(DOMAIN, '/client.json')
    const jwks = { keys: [agentKey.publicJwk] }
    documentHost.serve('/client.json', createJsonHandler({ ...createClientDocument(client_id, []), jwks }))
    const signAssertion = () => agentKey.signAssertion(client_id, system.origin)
    await requireSuccess(
      send('POST', '/oauth/token', {
        form: {
          ...CLIENT_CREDENTIALS,
          client_assertion_type: CLIENT_ASSERTION_TYPE,
          client_assertion: signAssertion(),
        },
      }),
    )
    return send('POST', '/api/agent/secrets', { clientAssertion: signAssertion() })
  },
  'foreign-token': async () =>
    send('POST', '/oauth/revoke', {
      as: await register(),
      form: { token: await requestToken(await register()) },
    }),
  'invalid-token': () => send('GET', '/api/guides', { token: 'ppt_wrong' }),
  'token-required': () => send('POST', '/api/contact', { json: MESSAGE }),
  'insufficient-scope': async () => sendMessage(await requestToken(await register())),
  'invalid-key-proof': async () =>
    send('PUT', '/api/agent/jwks', {
      as: await register(),
      json: { keys: [await generatePublicKey()], proof: 'wrong' },
    }),
  'client-has-keys': async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const { client_id } = await register({ jwks: { keys: [await exportJWK(publicKey)] } })
    const clientAssertion = await new SignJWT({
      iss: client_id,
      sub: client_id,
      aud: system.origin,
      jti: randomUUID(),
    })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1 minute')
      .sign(privateKey)
    return send('POST', '/api/agent/secrets', { clientAssertion })
  },
  'too-many-secrets': async () => {
    const agent = await register()
    await requireSuccess(send('POST', '/api/agent/secrets', { as: agent }))
    return send('POST', '/api/agent/secrets', { as: agent })
  },
  'last-secret': async () => {
    const agent = await register()
    const { secrets } = await requireSuccess<{ secrets: { secret_id: string }[] }>(
      send('GET', '/api/agent', { as: agent }),
    )
    return send('DELETE', `/api/agent/secrets/${secrets[0]?.secret_id}`, { as: agent })
  },
  'claim-unknown': async () => completeVerification(await register(), '123456'),
  'code-not-shown': async () => {
    const agent = await register()
    await beginVerification(agent)
    return completeVerification(agent, '123456')
  },
  'otp-invalid': async () => {
    const agent = await register()
    const { readCode } = await beginVerification(agent)
    return completeVerification(agent, makeWrongCode(await readCode()))
  },
  'otp-locked': async () => {
    const agent = await register()
    const { readCode } = await beginVerification(agent)
    const otp = makeWrongCode(await readCode())
    // The fifth wrong code locks the verification.
    for (const _attempt of [1, 2, 3, 4]) expect((await completeVerification(agent, otp)).status).toBe(400)
    await completeVerification(agent, otp)
    return completeVerification(agent, otp)
  },
  'claim-completed': async () => {
    const { agent, otp } = await confirmAgent()
    return completeVerification(agent, otp)
  },
  'claim-superseded': async () => {
    const agent = await register()
    const firstAttempt = await requireSuccess<{ claim_attempt_id: string }>(
      send('POST', '/api/agent/claim', { as: agent, json: { email: `ana-${randomUUID()}@example.org` } }),
    )
    await beginVerification(agent)
    return send('POST', '/api/agent/claim/complete', {
      as: agent,
      json: { otp: '123456', claim_attempt_id: firstAttempt.claim_attempt_id },
    })
  },
  'claim-declined': async () => {
    const agent = await register()
    const { press } = await beginVerification(agent)
    await press('no')
    return completeVerification(agent, '123456')
  },
  'no-claim': async () => send('POST', '/api/agent/assertion', { as: await register() }),
  'invalid-grant': async () => {
    const { agent, assertion } = await confirmAgent()
    await requireSuccess(send('DELETE', '/api/agent/claim', { as: agent }))
    return send('POST', '/oauth/token', { as: agent, form: { grant_type: JWT_BEARER_GRANT_TYPE, assertion } })
  },
  'duplicate-message': async () => {
    const { token } = await confirmAgent()
    await requireSuccess(sendMessage(token))
    return sendMessage(token)
  },
  'idempotency-key-reused': async () => {
    const { token } = await confirmAgent()
    await requireSuccess(sendMessage(token, 'key'))
    return sendMessage(token, 'key', 'Something else')
  },
  'message-withdrawn': async () => {
    const { token } = await confirmAgent()
    const { id } = await requireSuccess<{ id: string }>(sendMessage(token, 'key'))
    await requireSuccess(send('DELETE', `/api/contact/${id}`, { token }))
    return sendMessage(token, 'key')
  },
  'not-found': () => send('GET', '/api/guides/no-such-guide'),
}

/** Codes that need a changed clock, a race, a failure or many requests, each with the file of a test that causes it. */
const TESTED_ELSEWHERE: Readonly<Record<string, string>> = {
  'client-expired': 'apps/auth/test/expiry.test.ts',
  'otp-expired': 'apps/auth/test/claims.test.ts',
  'claim-expired': 'apps/auth/test/refused-mail.test.ts',
  'idempotency-in-progress': 'apps/resource/test/contact-storage.test.ts',
  'message-being-delivered': 'apps/resource/test/contact-hold.test.ts',
  'already-delivered': 'apps/resource/test/contact-hold.test.ts',
  'message-may-be-delivered': 'apps/resource/test/contact-failed-delivery.test.ts',
  'rate-limited': 'apps/auth/test/claim-limits.test.ts',
  unavailable: 'apps/auth/test/app-connections.test.ts',
}

async function generatePublicKey() {
  return exportJWK((await generateKeyPair('ES256')).publicKey)
}

describe('/auth/errors.md', () => {
  test.for(AGENT_ERRORS)('lists the status and the error of $code', async ({ code, status, error }) => {
    const kind = getProblemKind(code as ProblemCode)
    expect(PROBLEM_CODES).toContain(code)
    expect(status).toBe(kind.status)
    const requestError = ERROR_REQUESTS[code]
    if (!requestError) {
      const file = new URL(`../../${TESTED_ELSEWHERE[code]}`, import.meta.url)
      expect(await readFile(file, 'utf8')).toContain(`'${code}'`)
      expect(error).toBe(kind.oauth)
      return
    }
    const response = await requestError()
    const body = (await response.json()) as Record<string, string>
    const challenge = /\berror="([^"]+)"/.exec(response.headers.get('www-authenticate') ?? '')?.[1]
    expect({
      code: body['code'],
      status: response.status,
      error: body['error'] ?? challenge,
    }).toEqual({ code, status, error })
  })

  test('has exactly one row for each code that is tested here or in another file', async () => {
    const codes = AGENT_ERRORS.map(({ code }) => code)
    expect(new Set(codes).size).toBe(codes.length)
    expect([...Object.keys(ERROR_REQUESTS), ...Object.keys(TESTED_ELSEWHERE)].sort()).toEqual(
      codes.toSorted(),
    )
    const markdown = await (await fetch(`${system.origin}/auth/errors.md`)).text()
    for (const code of codes)
      expect(markdown).toContain(`| [\`${code}\`](${system.origin}/problems/${code}) |`)
  })
})

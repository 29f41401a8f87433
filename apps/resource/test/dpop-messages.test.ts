import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ContactApi, newMessage, startContact } from './contact-client.ts'
import {
  BAD_PROOF,
  BAD_TOKEN,
  type BoundRequest,
  expectRefused,
  makeProof,
  newProofKey,
  type ProofChange,
  type ProofKeyPair,
  type Proven,
  sendBound,
} from './dpop-client.ts'
import { expectProblem } from './send-request.ts'

const resources = new AsyncDisposableStack()
let contact: ContactApi
let key: ProofKeyPair
let otherKey: ProofKeyPair
let token: string
beforeAll(async () => {
  contact = resources.use(await startContact({ env: { RESOURCE_CONTACT_HOLD: '10' } }))
  key = await newProofKey()
  otherKey = await newProofKey()
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  contact.api.auth.tamper()
  token = contact.api.auth.issueBound(key.jkt)
})

const url = (path: string) => `${contact.api.origin}${path}`
const proof = (change: ProofChange, request: Partial<Proven>) =>
  makeProof(key, { url: url('/api/guides'), token, ...request }, change)
const send = (request: Partial<BoundRequest>) => sendBound(contact.api, { token, ...request })
async function stored(): Promise<number> {
  const { rows } = await contact.api.db.query<{ count: number }>('select count(*)::int from used_proofs')
  return rows[0]?.count ?? -1
}

describe('MCP', () => {
  const call = (name: string, args: object) => ({
    method: 'POST',
    path: '/api/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  })
  const good = (bound = token) => proof({}, { method: 'POST', url: url('/api/mcp'), token: bound })

  test('needs a proof for each message, and names its own metadata when it refuses', async () => {
    const list = call('list_guides', {})
    const once = await good()
    const response = await send({ ...list, proofs: [once] })
    expect(response.status, response.body).toBe(200)
    expect(response.headers['ratelimit-policy']).toMatch(/"reads-client"/)
    const before = await stored()
    const [ofApi] = [await proof({}, { method: 'POST', url: url('/api') })]
    for (const proofs of [[once], [ofApi], []])
      expectRefused(contact.api, await send({ ...list, proofs }), { ...BAD_PROOF, path: '/mcp' })
    expectRefused(contact.api, await send({ ...list, authorization: [`Bearer ${token}`] }), {
      ...BAD_TOKEN,
      path: '/mcp',
    })
    expect(await stored()).toBe(before)
  })

  test('sends a message of a person by a bound token, and not by it as Bearer', async () => {
    const bound = contact.tokenOf('mcp@example.org', 'reg_mcp', {
      token_type: 'DPoP',
      cnf: { jkt: key.jkt },
    })
    const message = call('send_contact_message', newMessage())
    const before = await contact.kept()
    const downgraded = await send({ ...message, token: bound, authorization: [`Bearer ${bound}`] })
    expectRefused(contact.api, downgraded, { ...BAD_TOKEN, path: '/mcp' })
    expect(await contact.kept()).toBe(before)
    const response = await send({ ...message, token: bound, proofs: [await good(bound)] })
    expect(response.body).toMatch(/received/)
    expect(await contact.kept()).toBeGreaterThan(before)
  })
})

describe('messages', () => {
  const boundFor = (name: string, change: Record<string, unknown> = {}) =>
    contact.tokenOf(`${name}@example.org`, `reg_${name}`, {
      token_type: 'DPoP',
      cnf: { jkt: key.jkt },
      ...change,
    })
  const sending = (bound: string, body: object, request: Partial<BoundRequest>) =>
    send({ method: 'POST', path: '/api/contact', token: bound, body, ...request })
  const good = (bound: string) => proof({}, { method: 'POST', url: url('/api/contact'), token: bound })

  test('a bound token needs a proof, and each retry under an Idempotency-Key another one', async () => {
    const bound = boundFor('ana')
    const body = newMessage()
    const key1 = { 'idempotency-key': 'retry-1' }
    const before = await contact.kept()
    for (const [refused, refusal] of [
      [{ authorization: [`Bearer ${bound}`] }, BAD_TOKEN],
      [{ authorization: [`Bearer ${bound}`], proofs: [await good(bound)] }, BAD_TOKEN],
      [{ proofs: [] }, BAD_PROOF],
      [{ proofs: [await proof({}, { url: url('/api/contact'), token: bound })] }, BAD_PROOF],
      [{ proofs: [await proof({}, { method: 'POST', url: url('/api/contact') })] }, BAD_PROOF],
    ] as const) {
      expectRefused(contact.api, await sending(bound, body, { ...refused, headers: key1 }), refusal)
      expect(await contact.kept()).toBe(before)
    }
    const once = await good(bound)
    const sent = await sending(bound, body, { proofs: [once], headers: key1 })
    expect(sent.status, sent.body).toBe(202)
    const after = await contact.kept()
    expectRefused(contact.api, await sending(bound, body, { proofs: [once], headers: key1 }), BAD_PROOF)
    const again = await sending(bound, body, { proofs: [await good(bound)], headers: key1 })
    expect([again.status, again.json()['id']]).toEqual([202, sent.json()['id']])
    expect(await contact.kept()).toBe(after)
  })

  test('a message is read and withdrawn with a proof of its own URL and method', async () => {
    const bound = boundFor('eva')
    const sent = await sending(bound, newMessage(), { proofs: [await good(bound)] })
    const path = `/api/contact/${String(sent.json()['id'])}`
    const proofOf = (method: string, at = path) => proof({}, { method, url: url(at), token: bound })
    const asking = async (method: string, sentProof: Promise<string>) =>
      (await send({ method, path, token: bound, proofs: [await sentProof] })).status
    expect(await asking('GET', proofOf('GET'))).toBe(200)
    expect(await asking('GET', proofOf('GET', '/api/contact/{id}'))).toBe(401)
    expect(await asking('DELETE', proofOf('GET'))).toBe(401)
    expect(await asking('DELETE', proofOf('DELETE', `/api/contact/${crypto.randomUUID()}`))).toBe(401)
    expect(await asking('GET', proofOf('GET'))).toBe(200)
    expect(await asking('DELETE', proofOf('DELETE'))).toBe(204)
  })

  test('a bound token without the scope is refused with the scheme that it used', async () => {
    const bound = boundFor('ben', { scope: 'guides:read' })
    const refused = await sending(bound, newMessage(), { proofs: [await good(bound)] })
    expectProblem(refused, { status: 403, code: 'insufficient-scope' })
    expect(refused.headers['www-authenticate']).toMatch(/^DPoP .*error="insufficient_scope", algs="/)
  })

  test('a token that turns out to be bound to another key when its address is read is refused', async () => {
    const bound = boundFor('cleo')
    const before = await contact.kept()
    contact.api.auth.tamper((reply) => {
      const about = reply.payload.token_introspection as { email?: string }
      if (about.email !== undefined) Object.assign(about, { cnf: { jkt: otherKey.jkt } })
    })
    expectRefused(contact.api, await sending(bound, newMessage(), { proofs: [await good(bound)] }), BAD_TOKEN)
    contact.api.auth.tamper()
    expect(await contact.kept()).toBe(before)
    expect((await sending(bound, newMessage(), { proofs: [await good(bound)] })).status).toBe(202)
  })

  test('an unbound token sends messages as before', async () => {
    expect((await contact.send(contact.tokenOf('dora@example.org', 'reg_dora'), newMessage())).status).toBe(
      202,
    )
  })
})

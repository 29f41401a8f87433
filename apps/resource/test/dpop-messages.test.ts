import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  BAD_PROOF,
  BAD_TOKEN,
  type BoundRequest,
  expectRefused,
  generateProofKeyPair,
  makeProof,
  type ProofKeyPair,
  type ProvenRequest,
  sendBoundRequest,
} from './dpop-client.ts'
import { expectProblem } from './send-request.ts'
import { type ContactApi, newMessage, startContact } from './start-contact.ts'

// DPoP on the routes that act for a person: contact messages and the MCP tools.

const resources = new AsyncDisposableStack()
let contact: ContactApi
let keyPair: ProofKeyPair
let otherKeyPair: ProofKeyPair
let token: string
beforeAll(async () => {
  // A hold of 10 minutes, so that the messages can still be withdrawn.
  contact = resources.use(await startContact({ env: { RESOURCE_CONTACT_HOLD: '10' } }))
  keyPair = await generateProofKeyPair()
  otherKeyPair = await generateProofKeyPair()
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  contact.api.auth.stopTampering()
  token = contact.api.auth.issueBound(keyPair.jkt)
})

const getUrl = (path: string) => `${contact.api.origin}${path}`
/** Makes a proof with `keyPair`, by default for a GET of the list of guides with `token`. */
const prove = (request: Partial<ProvenRequest>) =>
  makeProof(keyPair, { url: getUrl('/api/guides'), token, ...request })
/** Sends a request, by default a GET of the list of guides with `token` and without a proof. */
const send = (request: Partial<BoundRequest>) => sendBoundRequest(contact.api, { token, ...request })
async function countUsedProofs(): Promise<number> {
  const { rows } = await contact.api.db.query<{ count: number }>('select count(*)::int from used_proofs')
  // The query always returns a row.
  return rows[0]?.count ?? -1
}

describe('MCP', () => {
  const createCall = (name: string, args: object) => ({
    method: 'POST',
    path: '/api/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  })
  const proveCall = (boundToken = token) =>
    prove({ method: 'POST', url: getUrl('/api/mcp'), token: boundToken })

  test('needs a new proof for each request, and refers to the metadata of the MCP server when it refuses a request, without storing the proof', async () => {
    const list = createCall('list_guides', {})
    const usedProof = await proveCall()
    const response = await send({ ...list, proofs: [usedProof] })
    expect(response.status, response.body).toBe(200)
    expect(response.headers['ratelimit-policy']).toMatch(/"reads-client"/)
    const countBefore = await countUsedProofs()
    const proofOfOtherUrl = await prove({ method: 'POST', url: getUrl('/api') })
    for (const proofs of [[usedProof], [proofOfOtherUrl], []])
      expectRefused(contact.api, await send({ ...list, proofs }), { ...BAD_PROOF, path: '/mcp' })
    expectRefused(contact.api, await send({ ...list, authorization: [`Bearer ${token}`] }), {
      ...BAD_TOKEN,
      path: '/mcp',
    })
    expect(await countUsedProofs()).toBe(countBefore)
  })

  test("sends a person's message with a bound token and a proof, and refuses the same token as a bearer token", async () => {
    const boundToken = contact.issueToken('mcp@example.org', 'reg_mcp', {
      token_type: 'DPoP',
      cnf: { jkt: keyPair.jkt },
    })
    const message = createCall('send_contact_message', newMessage())
    const rowsBefore = await contact.countStoredRows()
    const downgradedResponse = await send({
      ...message,
      token: boundToken,
      authorization: [`Bearer ${boundToken}`],
    })
    expectRefused(contact.api, downgradedResponse, { ...BAD_TOKEN, path: '/mcp' })
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    const response = await send({ ...message, token: boundToken, proofs: [await proveCall(boundToken)] })
    expect(response.body).toMatch(/received/)
    expect(await contact.countStoredRows()).toBeGreaterThan(rowsBefore)
  })
})

describe('messages', () => {
  const issueBoundToken = (name: string, overrides: Record<string, unknown> = {}) =>
    contact.issueToken(`${name}@example.org`, `reg_${name}`, {
      token_type: 'DPoP',
      cnf: { jkt: keyPair.jkt },
      ...overrides,
    })
  const sendMessage = (boundToken: string, body: object, request: Partial<BoundRequest>) =>
    send({ method: 'POST', path: '/api/contact', token: boundToken, body, ...request })
  const proveMessage = (boundToken: string) =>
    prove({ method: 'POST', url: getUrl('/api/contact'), token: boundToken })

  test('with a bound token need a proof, and a new one for each retry with the same Idempotency-Key', async () => {
    const boundToken = issueBoundToken('ana')
    const body = newMessage()
    const headers = { 'idempotency-key': 'retry-1' }
    const rowsBefore = await contact.countStoredRows()
    for (const [invalidRequest, refusal] of [
      [{ authorization: [`Bearer ${boundToken}`] }, BAD_TOKEN],
      [{ authorization: [`Bearer ${boundToken}`], proofs: [await proveMessage(boundToken)] }, BAD_TOKEN],
      [{ proofs: [] }, BAD_PROOF],
      // A proof for GET.
      [{ proofs: [await prove({ url: getUrl('/api/contact'), token: boundToken })] }, BAD_PROOF],
      // A proof with the hash of another token.
      [{ proofs: [await prove({ method: 'POST', url: getUrl('/api/contact') })] }, BAD_PROOF],
    ] as const) {
      expectRefused(contact.api, await sendMessage(boundToken, body, { ...invalidRequest, headers }), refusal)
      expect(await contact.countStoredRows()).toBe(rowsBefore)
    }
    const proof = await proveMessage(boundToken)
    const sentResponse = await sendMessage(boundToken, body, { proofs: [proof], headers })
    expect(sentResponse.status, sentResponse.body).toBe(202)
    const rowsAfter = await contact.countStoredRows()
    expectRefused(contact.api, await sendMessage(boundToken, body, { proofs: [proof], headers }), BAD_PROOF)
    const retryResponse = await sendMessage(boundToken, body, {
      proofs: [await proveMessage(boundToken)],
      headers,
    })
    expect([retryResponse.status, retryResponse.json()['id']]).toEqual([202, sentResponse.json()['id']])
    expect(await contact.countStoredRows()).toBe(rowsAfter)
  })

  test('are read and withdrawn only with a proof for their URL and method', async () => {
    const boundToken = issueBoundToken('eva')
    const sentResponse = await sendMessage(boundToken, newMessage(), {
      proofs: [await proveMessage(boundToken)],
    })
    const path = `/api/contact/${String(sentResponse.json()['id'])}`
    const proveMethod = (method: string, provenPath = path) =>
      prove({ method, url: getUrl(provenPath), token: boundToken })
    const requestMessage = async (method: string, proof: Promise<string>) =>
      (await send({ method, path, token: boundToken, proofs: [await proof] })).status
    expect(await requestMessage('GET', proveMethod('GET'))).toBe(200)
    // The pattern of the route is not the URL of the request.
    expect(await requestMessage('GET', proveMethod('GET', '/api/contact/{id}'))).toBe(401)
    expect(await requestMessage('DELETE', proveMethod('GET'))).toBe(401)
    expect(await requestMessage('DELETE', proveMethod('DELETE', `/api/contact/${crypto.randomUUID()}`))).toBe(
      401,
    )
    expect(await requestMessage('GET', proveMethod('GET'))).toBe(200)
    expect(await requestMessage('DELETE', proveMethod('DELETE'))).toBe(204)
  })

  test('are refused with a DPoP challenge if the bound token lacks the scope', async () => {
    const boundToken = issueBoundToken('ben', { scope: 'guides:read' })
    const refusal = await sendMessage(boundToken, newMessage(), { proofs: [await proveMessage(boundToken)] })
    expectProblem(refusal, { status: 403, code: 'insufficient-scope' })
    expect(refusal.headers['www-authenticate']).toMatch(/^DPoP .*error="insufficient_scope", algs="/)
  })

  test('are refused if the introspection that returns the address says that the token is bound to another key', async () => {
    const boundToken = issueBoundToken('cleo')
    const rowsBefore = await contact.countStoredRows()
    // For a message, the API introspects a second time to get the e-mail address. Only that response is changed.
    contact.api.auth.tamper((reply) => {
      const introspection = reply.payload.token_introspection as { email?: string }
      if (introspection.email !== undefined) Object.assign(introspection, { cnf: { jkt: otherKeyPair.jkt } })
    })
    expectRefused(
      contact.api,
      await sendMessage(boundToken, newMessage(), { proofs: [await proveMessage(boundToken)] }),
      BAD_TOKEN,
    )
    contact.api.auth.stopTampering()
    expect(await contact.countStoredRows()).toBe(rowsBefore)
    expect(
      (await sendMessage(boundToken, newMessage(), { proofs: [await proveMessage(boundToken)] })).status,
    ).toBe(202)
  })

  test('are accepted with an unbound token', async () => {
    expect(
      (await contact.send(contact.issueToken('dora@example.org', 'reg_dora'), newMessage())).status,
    ).toBe(202)
  })
})

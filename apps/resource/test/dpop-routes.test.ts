import { randomUUID } from 'node:crypto'
import { OPERATIONS, serviceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContactApi, startContact } from './contact-client.ts'
import { type BoundRequest, makeProof, newProofKey, type ProofKeyPair, sendBound } from './dpop-client.ts'
import type { HttpResponse } from './send-request.ts'

/** A request to a route that takes access tokens. */
interface TokenRequest {
  readonly method: string
  readonly path: string
  readonly body?: object
  /** The path of the resource that challenges name. */
  readonly resource: string
  /** The status of the response to a request that is in order. */
  readonly status: number
}

const ORDINARY_STATUS: Readonly<Record<string, number>> = {
  joinWaitlist: 201,
  forgetWaitlist: 202,
  sendContactMessage: 202,
  // There is no such message.
  getContactMessage: 404,
  deleteContactMessage: 404,
}

/** Every operation of the API that takes a token, with the first example of its body. */
const OF_OPERATIONS = OPERATIONS.filter(
  ({ access }) => access === 'public' || typeof access === 'object',
).map(({ method, path, operationId, bodyExamples = {} }): TokenRequest => {
  const [example] = Object.values(bodyExamples)
  return {
    method: method.toUpperCase(),
    path: path.replace('{slug}', 'work-permit').replace('{id}', randomUUID()),
    ...(example && { body: example(serviceUrls('https://plainpath.example')) as object }),
    resource: '/api',
    status: ORDINARY_STATUS[operationId] ?? 200,
  }
})

const REQUESTS: readonly TokenRequest[] = [
  ...OF_OPERATIONS,
  ...OF_OPERATIONS.filter(({ method }) => method === 'GET').map((read) => ({ ...read, method: 'HEAD' })),
  ...['/api/mcp', '/mcp'].map((path) => ({
    method: 'POST',
    path,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    resource: path,
    status: 200,
  })),
]

let contact: ContactApi
let key: ProofKeyPair
beforeAll(async () => {
  contact = await startContact()
  key = await newProofKey()
})
afterAll(() => contact[Symbol.asyncDispose]())

async function stored(): Promise<number> {
  const { rows } = await contact.api.db.query<{ count: number }>('select count(*)::int from used_proofs')
  return (rows[0]?.count ?? -1) + (await contact.kept()) + (await contact.api.entries())
}

function expectChallenge(refused: HttpResponse, resource: string, error: string): void {
  expect(refused.status, refused.body).toBe(401)
  expect(refused.headers['www-authenticate']).toMatch(
    new RegExp(
      `^DPoP realm="plainpath", error="${error}", algs="ES256 EdDSA Ed25519", scope="[a-z: ]+", ` +
        `resource_metadata="${contact.api.origin}/.well-known/oauth-protected-resource${resource}"$`,
    ),
  )
}

describe('a token that is bound to a key needs a proof, whatever the route:', () => {
  test.for(REQUESTS)('$method $path', async ({ method, path, body, resource, status }) => {
    const { base, signedInMcp } = serviceUrls(contact.api.origin)
    const aud = path === '/mcp' ? signedInMcp : base
    const issue = (change: Record<string, unknown>) =>
      contact.tokenOf('ana@example.org', 'reg_ana', { aud, ...change })
    const bound = issue({ token_type: 'DPoP', cnf: { jkt: key.jkt } })
    const bearer = issue({})
    const proof = (token: string) => makeProof(key, { method, url: `${contact.api.origin}${path}`, token })
    const send = (request: Omit<BoundRequest, 'method' | 'path'>) =>
      sendBound(contact.api, { method, path, ...(body && { body }), ...request })

    const guides = `${contact.api.origin}/api/guides`
    const read = async () => {
      const proofs = [await makeProof(key, { url: guides, token: bound })]
      return (await sendBound(contact.api, { token: bound, proofs })).status
    }
    // The first requests may find a connection that is still being opened.
    if (path !== '/mcp') await expect.poll(read).toBe(200)

    const storedBefore = await stored()
    const withProof = [await proof(bound)]
    for (const [error, request] of [
      ['invalid_token', { token: bound, authorization: [`Bearer ${bound}`] }],
      ['invalid_token', { token: bound, authorization: [`Bearer ${bound}`], proofs: withProof }],
      ['invalid_dpop_proof', { token: bound }],
      ['invalid_dpop_proof', { token: bound, proofs: [await proof(bearer)] }],
      ['invalid_token', { token: bearer, proofs: [await proof(bearer)] }],
      [
        'invalid_token',
        { token: bearer, authorization: [`Bearer ${bearer}`], proofs: [await proof(bearer)] },
      ],
    ] as const)
      expectChallenge(await send(request), resource, error)
    expect(await stored()).toBe(storedBefore)

    const accepted = await send({ token: bound, proofs: withProof })
    expect(accepted.status, accepted.body).toBe(status)
    expectChallenge(await send({ token: bound, proofs: withProof }), resource, 'invalid_dpop_proof')
  })
})

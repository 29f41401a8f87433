import { randomUUID } from 'node:crypto'
import { createServiceUrls, OPERATION_LIST } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type BoundRequest,
  generateProofKeyPair,
  makeProof,
  type ProofKeyPair,
  sendBoundRequest,
} from './dpop-client.ts'
import type { HttpResponse } from './send-request.ts'
import { type ContactApi, startContact } from './start-contact.ts'

/** A request to a route that takes access tokens. */
interface TokenRequest {
  readonly method: string
  readonly path: string
  readonly body?: object
  /** The path of the resource whose metadata the challenges name. */
  readonly resource: string
  /** The status of the response to a valid request. */
  readonly status: number
}

/** The status of the response to a valid request, by operation. It is 200 for all other operations. */
const SUCCESS_STATUS: Readonly<Record<string, number>> = {
  joinWaitlist: 201,
  forgetWaitlist: 202,
  sendContactMessage: 202,
  // The id in the path is random, so there is no such message.
  getContactMessage: 404,
  deleteContactMessage: 404,
}

/**
 * A request to every operation that takes a token, with the first example of its body. A `public` operation takes an optional
 * token. If `access` is an object, the operation requires a token with its scopes.
 */
const OPERATION_REQUESTS = OPERATION_LIST.filter(
  ({ access }) => access === 'public' || typeof access === 'object',
).map(({ method, path, operationId, bodyExamples = {} }): TokenRequest => {
  const [example] = Object.values(bodyExamples)
  return {
    method: method.toUpperCase(),
    path: path.replace('{slug}', 'work-permit').replace('{id}', randomUUID()),
    ...(example && { body: example(createServiceUrls('https://plainpath.example')) as object }),
    resource: '/api',
    status: SUCCESS_STATUS[operationId] ?? 200,
  }
})

const REQUESTS: readonly TokenRequest[] = [
  ...OPERATION_REQUESTS,
  ...OPERATION_REQUESTS.filter(({ method }) => method === 'GET').map((read) => ({ ...read, method: 'HEAD' })),
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
  key = await generateProofKeyPair()
})
afterAll(() => contact[Symbol.asyncDispose]())

/** Counts the used proofs, messages, mails and waitlist entries. */
async function countStoredRows(): Promise<number> {
  const { rows } = await contact.api.db.query<{ count: number }>('select count(*)::int from used_proofs')
  return (
    (rows[0]?.count ?? -1) + (await contact.countStoredRows()) + (await contact.api.countWaitlistEntries())
  )
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

describe('a bound token needs a proof, and each proof is accepted once, at', () => {
  test.for(REQUESTS)('$method $path', async ({ method, path, body, resource, status }) => {
    const { base, signedInMcp } = createServiceUrls(contact.api.origin)
    const aud = path === '/mcp' ? signedInMcp : base
    const issueToken = (overrides: Record<string, unknown>) =>
      contact.issueToken('ana@example.org', 'reg_ana', { aud, ...overrides })
    const boundToken = issueToken({ token_type: 'DPoP', cnf: { jkt: key.jkt } })
    const bearer = issueToken({})
    const proveRequest = (token: string) =>
      makeProof(key, { method, url: `${contact.api.origin}${path}`, token })
    const send = (request: Omit<BoundRequest, 'method' | 'path'>) =>
      sendBoundRequest(contact.api, { method, path, ...(body && { body }), ...request })

    const guidesUrl = `${contact.api.origin}/api/guides`
    const readGuides = async () => {
      const proofs = [await makeProof(key, { url: guidesUrl, token: boundToken })]
      return (await sendBoundRequest(contact.api, { token: boundToken, proofs })).status
    }
    // The connection to the store of used proofs may still be opening. A token for /mcp cannot read the guides.
    if (path !== '/mcp') await expect.poll(readGuides).toBe(200)

    const rowsBefore = await countStoredRows()
    const validProofs = [await proveRequest(boundToken)]
    for (const [error, request] of [
      ['invalid_token', { token: boundToken, authorization: [`Bearer ${boundToken}`] }],
      ['invalid_token', { token: boundToken, authorization: [`Bearer ${boundToken}`], proofs: validProofs }],
      ['invalid_dpop_proof', { token: boundToken }],
      ['invalid_dpop_proof', { token: boundToken, proofs: [await proveRequest(bearer)] }],
      ['invalid_token', { token: bearer, proofs: [await proveRequest(bearer)] }],
      [
        'invalid_token',
        { token: bearer, authorization: [`Bearer ${bearer}`], proofs: [await proveRequest(bearer)] },
      ],
    ] as const)
      expectChallenge(await send(request), resource, error)
    expect(await countStoredRows()).toBe(rowsBefore)

    const acceptedResponse = await send({ token: boundToken, proofs: validProofs })
    expect(acceptedResponse.status, acceptedResponse.body).toBe(status)
    expectChallenge(await send({ token: boundToken, proofs: validProofs }), resource, 'invalid_dpop_proof')
  })
})

import { expect, test } from 'vitest'
import { REFRESH_GRACE_MS } from './connections.ts'
import type { HttpResponse } from './http-client.ts'
import {
  createLedger,
  isRevocationRequested,
  type KnownAgent,
  type KnownConnection,
  type KnownToken,
  type Ledger,
} from './ledger.ts'
import {
  MAX_STALE_AGENT_MS,
  OPERATIONS,
  prepareRejoin,
  prepareTokenRequestForDeletedAgent,
  prepareTokenUse,
} from './operations.ts'

/** Creates a response, by default to a request from 100 to 110 ms. The other times in this file relate to these. */
const createResponse = (
  status: number,
  body: object = {},
  at = { startedAt: 100, endedAt: 110 },
): HttpResponse => ({
  status,
  text: JSON.stringify(body),
  ...at,
  header: (name) => (name === 'www-authenticate' && status === 401 ? 'Bearer' : undefined),
})

/** Creates a ledger with one agent and one token. The token is live unless its revocation or the deletion of its agent was requested. */
function createAgentLedger(token: Partial<KnownToken> = {}, agent: Partial<KnownAgent> = {}) {
  const ledger = createLedger('http://127.0.0.1:1', ['one'])
  const owner = { id: 'agt', secret: 'pps', registeredAt: 0, requestsInFlight: 0, ...agent }
  const issuedToken = { value: 'ppt', owner, isBound: false, requestedAt: 50, ...token }
  ledger.agents.push(owner)
  ledger.tokens.push(issuedToken)
  if (!isRevocationRequested(issuedToken, Number.POSITIVE_INFINITY)) ledger.liveTokens.push(issuedToken)
  return { ledger, token: issuedToken, agent: owner }
}

const checkUse = (ledger: Ledger, token: KnownToken, response: HttpResponse) =>
  prepareTokenUse(ledger, token)?.check(response)

test('a 200 is correct for a live token; a 401, a 500 and a missing response are reported', () => {
  const { ledger, token } = createAgentLedger()
  expect(checkUse(ledger, token, createResponse(200))).toBeUndefined()
  expect(checkUse(ledger, token, createResponse(401))).toBe('401 for a token that was not revoked')
  expect(checkUse(ledger, token, createResponse(500, { code: 'internal-error' }))).toBe('500 internal-error')
  expect(checkUse(ledger, token, createResponse(0))).toMatch(/^no response/)
})

test.for<[string, Partial<KnownToken>, Partial<KnownAgent>]>([
  ['its revocation', { revocationRequestedAt: 80, revokedAt: 100 }, {}],
  ['its agent’s deletion', {}, { deletionRequestedAt: 80, deletedAt: 100 }],
])('a token that is accepted after %s was acknowledged is reported', ([, tokenChanges, agentChanges]) => {
  const { ledger, token } = createAgentLedger(tokenChanges, agentChanges)
  expect(checkUse(ledger, token, createResponse(200))).toBe('R-LIN: a revoked token was accepted')
  expect(checkUse(ledger, token, createResponse(200, {}, { startedAt: 99, endedAt: 110 }))).toBeUndefined()
  expect(checkUse(ledger, token, createResponse(401))).toBeUndefined()
})

test('200 and 401 are permitted for a token while its revocation is requested but not acknowledged', () => {
  const { ledger, token } = createAgentLedger({ revocationRequestedAt: 105 })
  expect(checkUse(ledger, token, createResponse(200))).toBeUndefined()
  expect(checkUse(ledger, token, createResponse(401))).toBeUndefined()
})

test('a 401 is permitted because of a data loss only for a token that was requested before the loss ended', () => {
  const { ledger, token } = createAgentLedger()
  ledger.losses.push({ from: 60, to: 70 })
  expect(checkUse(ledger, token, createResponse(401))).toBeUndefined()
  const newer = createAgentLedger({ requestedAt: 71 })
  newer.ledger.losses.push({ from: 60, to: 70 })
  expect(checkUse(newer.ledger, newer.token, createResponse(401))).toBe(
    '401 for a token that was not revoked',
  )
})

test('an address that joined before is reported as lost if it can join as a new one', () => {
  expect(prepareRejoin('a@example.org').check(createResponse(201, { status: 'joined' }))).toMatch(/^LOST/)
  expect(
    prepareRejoin('a@example.org').check(createResponse(200, { status: 'already_joined' })),
  ).toBeUndefined()
})

test('a token that a deleted agent gets is recorded as revoked, and reported once no cache may hold the agent', () => {
  const { ledger, agent } = createAgentLedger({}, { deletionRequestedAt: 80, deletedAt: 90 })
  expect(prepareTokenRequestForDeletedAgent(ledger, agent).check(createResponse(401))).toBeUndefined()
  expect(
    prepareTokenRequestForDeletedAgent(ledger, agent).check(createResponse(200, { access_token: 'late' })),
  ).toBeUndefined()
  const lateToken = ledger.revokedTokens.at(-1)!
  expect(checkUse(ledger, lateToken, createResponse(200))).toBe('R-LIN: a revoked token was accepted')
  const startedAt = Number(agent.deletedAt) + MAX_STALE_AGENT_MS + 1
  const tooLate = createResponse(200, { access_token: 'x' }, { startedAt, endedAt: startedAt + 1 })
  expect(prepareTokenRequestForDeletedAgent(ledger, agent).check(tooLate)).toBe(
    'a deleted agent still gets tokens',
  )
})

test('the operations token and revoke report a 401 for a registered agent', () => {
  const { ledger } = createAgentLedger()
  expect(OPERATIONS.token.prepare(ledger)?.check(createResponse(401, { error: 'invalid_client' }))).toBe(
    '401 invalid_client',
  )
  expect(OPERATIONS.revoke.prepare(ledger)?.check(createResponse(401, { error: 'invalid_client' }))).toBe(
    '401 invalid_client',
  )
})

test('the operation revoke removes a token from `liveTokens` with the request, and records the revocation after the 200', () => {
  const { ledger, token } = createAgentLedger()
  const attempt = OPERATIONS.revoke.prepare(ledger)
  expect([ledger.liveTokens, ledger.revokedTokens]).toEqual([[], []])
  attempt?.check(createResponse(200))
  expect([token.revokedAt, ledger.revokedTokens]).toEqual([110, [token]])
})

/** Creates a ledger with one connection of a person, and its live token. */
function createPersonLedger(refreshingSince?: number) {
  const ledger = createLedger('http://127.0.0.1:1', ['one'], 'app_x')
  const owner: KnownConnection = { refreshToken: 'ppr', requestsInFlight: 0, refreshingSince }
  const token: KnownToken = { value: 'ppt', owner, isBound: false, requestedAt: 50 }
  ledger.connections.push(owner)
  ledger.tokens.push(token)
  ledger.liveTokens.push(token)
  return { ledger, owner, token }
}
const newTokens = { access_token: 'new', refresh_token: 'newer' }

test('a person’s token is used at the signed-in MCP address, and a 200 after its connection was revoked is reported', () => {
  const { ledger, owner, token } = createPersonLedger()
  expect(prepareTokenUse(ledger, token)?.request).toMatchObject({ method: 'POST', path: '/mcp' })
  expect(checkUse(ledger, token, createResponse(200))).toBeUndefined()
  expect(checkUse(ledger, token, createResponse(401))).toBe('401 for a token that was not revoked')
  Object.assign(owner, { revocationRequestedAt: 80, revokedAt: 100 })
  expect(checkUse(ledger, token, createResponse(200))).toBe('R-LIN: a revoked token was accepted')
  expect(checkUse(ledger, token, createResponse(401))).toBeUndefined()
})

test('the operation refresh is repeated with the same token until a new token has arrived, and reports the failure', () => {
  const { ledger, owner } = createPersonLedger()
  const attempt = OPERATIONS.refresh.prepare(ledger)
  expect(attempt?.request.body).toBe('grant_type=refresh_token&refresh_token=ppr&client_id=app_x')
  expect(OPERATIONS.refresh.prepare(ledger)).toBeUndefined()
  expect(attempt?.check(createResponse(400, { error: 'invalid_grant' }))).toBe('400 invalid_grant')
  attempt?.release?.()
  expect(owner).toMatchObject({ refreshToken: 'ppr', refreshingSince: expect.any(Number) })
  expect(OPERATIONS.refresh.prepare(ledger)?.check(createResponse(200, newTokens))).toBeUndefined()
  expect(owner).toEqual({ refreshToken: 'newer', refreshingSince: undefined, requestsInFlight: 1 })
  expect(ledger.liveTokens.at(-1)).toMatchObject({ value: 'new', owner })
})

test('the operation refresh does not present a token again when its grace period may be over', () => {
  const { ledger } = createPersonLedger(performance.now() - REFRESH_GRACE_MS - 1)
  expect(OPERATIONS.refresh.prepare(ledger)).toBeUndefined()
})

import { expect, test } from 'vitest'
import type { HttpResponse } from './http-client.ts'
import { type KnownAgent, type KnownConnection, type KnownToken, type Ledger, newLedger } from './ledger.ts'
import { OPERATIONS, rejoin, requestTokenAfterDeletion, useToken } from './operations.ts'

const response = (
  status: number,
  body: object = {},
  at = { startedAt: 100, endedAt: 110 },
): HttpResponse => ({
  status,
  text: JSON.stringify(body),
  ...at,
  header: (name) => (name === 'www-authenticate' && status === 401 ? 'Bearer' : undefined),
})

function known(token: Partial<KnownToken> = {}, agent: Partial<KnownAgent> = {}) {
  const ledger = newLedger('http://127.0.0.1:1', ['one'])
  const owner = { id: 'agt', secret: 'pps', registeredAt: 0, busy: 0, ...agent }
  const issued = { value: 'ppt', owner, isBound: false, requestedAt: 50, ...token }
  ledger.agents.push(owner)
  ledger.tokens.push(issued)
  ledger.liveTokens.push(issued)
  return { ledger, token: issued, agent: owner }
}
const read = (ledger: Ledger, token: KnownToken, got: HttpResponse) => useToken(ledger, token)?.read(got)

test('expects a live token to be accepted, not refused with 401 or 500', () => {
  const { ledger, token } = known()
  expect(read(ledger, token, response(200))).toBeUndefined()
  expect(read(ledger, token, response(401))).toBe('401 for a token that was not ended')
  expect(read(ledger, token, response(500, { code: 'internal-error' }))).toBe('500 internal-error')
  expect(read(ledger, token, response(0))).toMatch(/^no answer/)
})

test.for<[string, Partial<KnownToken>, Partial<KnownAgent>]>([
  ['a token', { endRequestedAt: 80, endedAt: 100 }, {}],
  ['an agent', {}, { endRequestedAt: 80, endedAt: 100 }],
])('reports a token that is accepted after the end of %s was acknowledged', ([, ending, owner]) => {
  const { ledger, token } = known(ending, owner)
  expect(read(ledger, token, response(200))).toBe('R-LIN: an ended token was accepted')
  expect(read(ledger, token, response(200, {}, { startedAt: 99, endedAt: 110 }))).toBeUndefined()
  expect(read(ledger, token, response(401))).toBeUndefined()
})

test('permits either state for a token whose revocation has no response', () => {
  const { ledger, token } = known({ endRequestedAt: 105 })
  expect([read(ledger, token, response(200)), read(ledger, token, response(401))]).toEqual([
    undefined,
    undefined,
  ])
})

test('permits the loss of a token only if it was requested before the end of the loss', () => {
  const { ledger, token } = known()
  ledger.losses.push({ from: 60, to: 70 })
  expect(read(ledger, token, response(401))).toBeUndefined()
  const later = known({ requestedAt: 71 })
  later.ledger.losses.push({ from: 60, to: 70 })
  expect(read(later.ledger, later.token, response(401))).toBe('401 for a token that was not ended')
})

test('reports an acknowledged address that joins again as lost', () => {
  expect(rejoin('a@example.org').read(response(201, { status: 'joined' }))).toMatch(/^LOST/)
  expect(rejoin('a@example.org').read(response(200, { status: 'already_joined' }))).toBeUndefined()
})

test('counts a token of a deleted agent as ended, and reports it when every instance must know of the deletion', () => {
  const { ledger, agent } = known({}, { endRequestedAt: 80, endedAt: 90 })
  expect(requestTokenAfterDeletion(ledger, agent).read(response(401))).toBeUndefined()
  expect(
    requestTokenAfterDeletion(ledger, agent).read(response(200, { access_token: 'late' })),
  ).toBeUndefined()
  const late = ledger.endedTokens.at(-1)!
  expect(read(ledger, late, response(200))).toBe('R-LIN: an ended token was accepted')
  const after = response(200, { access_token: 'x' }, { startedAt: 60_000, endedAt: 60_001 })
  expect(requestTokenAfterDeletion(ledger, agent).read(after)).toBe('a deleted agent still gets tokens')
})

test('reports a 401 for an acknowledged agent', () => {
  const { ledger } = known()
  expect(OPERATIONS.token.prepare(ledger)?.read(response(401, { error: 'invalid_client' }))).toBe(
    '401 invalid_client',
  )
  expect(OPERATIONS.revoke.prepare(ledger)?.read(response(401, { error: 'invalid_client' }))).toBe(
    '401 invalid_client',
  )
})

test('counts a revocation from its 200, and stops using the token as a live one before that', () => {
  const { ledger, token } = known()
  const attempt = OPERATIONS.revoke.prepare(ledger)
  expect([ledger.liveTokens, ledger.endedTokens]).toEqual([[], []])
  attempt?.read(response(200))
  expect([token.endedAt, ledger.endedTokens]).toEqual([110, [token]])
})

/** A ledger with one connection of a person, and its token. */
function signedIn(refreshingSince?: number) {
  const ledger = newLedger('http://127.0.0.1:1', ['one'], 'app_x')
  const owner: KnownConnection = { refreshToken: 'ppr', busy: 0, refreshingSince }
  const token: KnownToken = { value: 'ppt', owner, isBound: false, requestedAt: 50 }
  ledger.connections.push(owner)
  ledger.tokens.push(token)
  ledger.liveTokens.push(token)
  return { ledger, owner, token }
}
const tokens = { access_token: 'new', refresh_token: 'newer' }

test('uses the token of a person at the signed-in MCP address, and reports it after its connection ended', () => {
  const { ledger, owner, token } = signedIn()
  expect(useToken(ledger, token)?.sent).toMatchObject({ method: 'POST', path: '/mcp' })
  expect(read(ledger, token, response(200))).toBeUndefined()
  expect(read(ledger, token, response(401))).toBe('401 for a token that was not ended')
  Object.assign(owner, { endRequestedAt: 80, endedAt: 100 })
  expect(read(ledger, token, response(200))).toBe('R-LIN: an ended token was accepted')
  expect(read(ledger, token, response(401))).toBeUndefined()
})

test('keeps a refresh token until its successor has arrived, and reports a connection that is lost', () => {
  const { ledger, owner } = signedIn()
  const attempt = OPERATIONS.refresh.prepare(ledger)
  expect(attempt?.sent.body).toBe('grant_type=refresh_token&refresh_token=ppr&client_id=app_x')
  expect(OPERATIONS.refresh.prepare(ledger)).toBeUndefined()
  expect(attempt?.read(response(400, { error: 'invalid_grant' }))).toBe('400 invalid_grant')
  attempt?.release?.()
  expect(owner).toMatchObject({ refreshToken: 'ppr', refreshingSince: expect.any(Number) })
  expect(OPERATIONS.refresh.prepare(ledger)?.read(response(200, tokens))).toBeUndefined()
  expect(owner).toEqual({ refreshToken: 'newer', refreshingSince: undefined, busy: 1 })
  expect(ledger.liveTokens.at(-1)).toMatchObject({ value: 'new', owner })
})

test('does not use a refresh token again whose grace may be over', () => {
  const { ledger } = signedIn(performance.now() - 50_001)
  expect(OPERATIONS.refresh.prepare(ledger)).toBeUndefined()
})

import { expect, test } from 'vitest'
import type { Answer } from './ask.ts'
import { type KnownAgent, type KnownToken, type Ledger, newLedger } from './ledger.ts'
import { OPERATIONS, readWith, rejoin, tokenAfterEnd } from './operations.ts'

const answer = (status: number, body: object = {}, at = { startedAt: 100, endedAt: 110 }): Answer => ({
  status,
  text: JSON.stringify(body),
  ...at,
  header: (name) => (name === 'www-authenticate' && status === 401 ? 'Bearer' : undefined),
})

function known(token: Partial<KnownToken> = {}, agent: Partial<KnownAgent> = {}) {
  const ledger = newLedger(['one'])
  const owner = { id: 'agt', secret: 'pps', registeredAt: 0, busy: 0, ...agent }
  const issued = { value: 'ppt', agent: owner, askedAt: 50, ...token }
  ledger.agents.push(owner)
  ledger.tokens.push(issued)
  ledger.liveTokens.push(issued)
  return { ledger, token: issued, agent: owner }
}
const read = (ledger: Ledger, token: KnownToken, got: Answer) => readWith(ledger, token)?.read(got)

test('a live token is accepted; refusing it with 401 or 500 is wrong', () => {
  const { ledger, token } = known()
  expect(read(ledger, token, answer(200))).toBeUndefined()
  expect(read(ledger, token, answer(401))).toBe('401 for a token that was not ended')
  expect(read(ledger, token, answer(500, { code: 'internal-error' }))).toBe('500 internal-error')
  expect(read(ledger, token, answer(0))).toMatch(/^no answer/)
})

test.for<[string, Partial<KnownToken>, Partial<KnownAgent>]>([
  ['a token', { endingFrom: 80, endedAt: 100 }, {}],
  ['an agent', {}, { endingFrom: 80, endedAt: 100 }],
])('whoever accepts a token after the end of %s was acknowledged is wrong', ([, ending, owner]) => {
  const { ledger, token } = known(ending, owner)
  expect(read(ledger, token, answer(200))).toBe('R-LIN: an ended token was accepted')
  expect(read(ledger, token, answer(200, {}, { startedAt: 99, endedAt: 110 }))).toBeUndefined()
  expect(read(ledger, token, answer(401))).toBeUndefined()
})

test('a token that somebody tried to end may be dead or alive', () => {
  const { ledger, token } = known({ endingFrom: 105 })
  expect([read(ledger, token, answer(200)), read(ledger, token, answer(401))]).toEqual([undefined, undefined])
})

test('a token may be lost with its store only when it was asked for before the loss was over', () => {
  const { ledger, token } = known()
  ledger.losses.push({ from: 60, to: 70 })
  expect(read(ledger, token, answer(401))).toBeUndefined()
  const later = known({ askedAt: 71 })
  later.ledger.losses.push({ from: 60, to: 70 })
  expect(read(later.ledger, later.token, answer(401))).toBe('401 for a token that was not ended')
})

test('an acknowledged address that joins anew is lost', () => {
  expect(rejoin('a@example.org').read(answer(201, { status: 'joined' }))).toMatch(/^LOST/)
  expect(rejoin('a@example.org').read(answer(200, { status: 'already_joined' }))).toBeUndefined()
})

test('a token that a deleted agent still gets counts as ended, and is wrong once everybody must have heard', () => {
  const { ledger, agent } = known({}, { endingFrom: 80, endedAt: 90 })
  expect(tokenAfterEnd(ledger, agent).read(answer(401))).toBeUndefined()
  expect(tokenAfterEnd(ledger, agent).read(answer(200, { access_token: 'late' }))).toBeUndefined()
  const late = ledger.endedTokens.at(-1)!
  expect(read(ledger, late, answer(200))).toBe('R-LIN: an ended token was accepted')
  const after = answer(200, { access_token: 'x' }, { startedAt: 60_000, endedAt: 60_001 })
  expect(tokenAfterEnd(ledger, agent).read(after)).toBe('a deleted agent still gets tokens')
})

test('what an acknowledged agent asks for is never 401', () => {
  const { ledger } = known()
  expect(OPERATIONS.token.prepare(ledger)?.read(answer(401, { error: 'invalid_client' }))).toBe(
    '401 invalid_client',
  )
  expect(OPERATIONS.revoke.prepare(ledger)?.read(answer(401, { error: 'invalid_client' }))).toBe(
    '401 invalid_client',
  )
})

test('a revocation counts from its 200; before that nobody uses the token as a live one', () => {
  const { ledger, token } = known()
  const attempt = OPERATIONS.revoke.prepare(ledger)
  expect([ledger.liveTokens, ledger.endedTokens]).toEqual([[], []])
  attempt?.read(answer(200))
  expect([token.endedAt, ledger.endedTokens]).toEqual([110, [token]])
})

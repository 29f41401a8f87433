import type { RevocationNotification } from '@plainpath/revocation'
import { expect, test } from 'vitest'
import type { ActiveAnswer } from './introspection.ts'
import { type Join, type LookUp, revocationMember } from './revocation-member.ts'

const MARK = 'mark-1'
const LEASE_MS = 2_000
const answer = (members: Partial<ActiveAnswer> = {}): ActiveAnswer => ({
  active: true,
  clientId: `agt_${'A'.repeat(22)}`,
  scopes: new Set(['guides:read']),
  audience: ['https://plainpath.example/api'],
  expiresAt: new Date('2030-01-01T00:00:00Z'),
  identityType: 'anonymous',
  endsToldBy: MARK,
  ...members,
})
const { endsToldBy: _mark, ...UNTOLD } = answer()
const tokenEnded = (number: number, hash: string, mark = MARK): RevocationNotification => ({
  mark,
  number,
  revoked: { kind: 'token', hash },
})

/** A member that joined at 0, with number 7. */
function joined(options: { mostKept?: number; keepMs?: number } = {}) {
  const member = revocationMember({
    name: 'api',
    leaseMs: LEASE_MS,
    keepMs: 30_000,
    mostKept: 100,
    ...options,
  })
  const [join] = member.connected(0) as [Join]
  member.joined(join, { mark: MARK, number: 7 }, 1)
  return member
}
type Member = ReturnType<typeof joined>

function lookUp(member: Member, hash: string, now: number): LookUp {
  const asked = member.ask(hash, now)
  if (asked.how !== 'new') throw new Error(`${hash} was ${asked.how}`)
  return asked.lookUp
}
const keep = (member: Member, hash: string, now: number, given = answer()) =>
  member.answered(lookUp(member, hash, now), given, now)
const how = (member: Member, hash: string, now: number) => member.ask(hash, now).how

test('uses what it kept under a lease, which is counted from before it was asked for', () => {
  const member = revocationMember({ name: 'api', leaseMs: LEASE_MS, keepMs: 30_000, mostKept: 100 })
  expect(how(member, 'a', 0)).toBe('alone')
  const [join] = member.connected(100) as [Join]
  expect(how(member, 'a', 101)).toBe('alone')
  member.joined(join, { mark: MARK, number: 7 }, 900)
  keep(member, 'a', 901)
  expect(member.ask('a', 100 + LEASE_MS - 1)).toEqual({ how: 'kept', answer: answer() })
  expect(how(member, 'a', 100 + LEASE_MS)).toBe('alone')
  const [hear] = member.tick(2_000)
  expect(hear).toEqual({ do: 'hear', id: 'api.1', mark: MARK, seen: 7, sentAt: 2_000 })
  if (hear?.do === 'hear') member.heard(hear, 7, 3_500)
  expect([how(member, 'a', 3_999), how(member, 'a', 4_000)]).toEqual(['kept', 'alone'])
})

test('look-ups under way are shared under a lease only', () => {
  const member = joined()
  const first = lookUp(member, 'a', 10)
  expect(member.ask('a', 11)).toEqual({ how: 'shared', lookUp: first })
  expect(how(member, 'b', 12)).toBe('new')
  expect(how(member, 'a', LEASE_MS)).toBe('alone')
})

test.for<[string, (member: Member) => unknown, Record<string, string>]>([
  ['a token', (m) => m.notice(tokenEnded(8, 'a'), 20), { a: 'new', b: 'kept', c: 'shared' }],
  [
    'a client',
    (m) => m.notice({ mark: MARK, number: 8, revoked: { kind: 'client', id: answer().clientId } }, 20),
    { a: 'new', b: 'kept', c: 'new' },
  ],
  [
    'everything, as after a key was revoked',
    (m) => m.notice({ mark: MARK, number: 8, revoked: { kind: 'everything' } }, 20),
    { a: 'new', b: 'new', c: 'new' },
  ],
  ['more than was heard: a gap', (m) => m.notice(tokenEnded(9, 'z'), 20), { a: 'new', b: 'new', c: 'new' }],
  ['what was heard already', (m) => m.notice(tokenEnded(7, 'a'), 20), { a: 'kept', b: 'kept', c: 'shared' }],
])('a notice that names %s forgets that', ([, hear, expected]) => {
  const member = joined()
  keep(member, 'a', 10)
  keep(member, 'b', 10, answer({ clientId: `agt_${'B'.repeat(22)}` }))
  lookUp(member, 'c', 10)
  hear(member)
  expect(Object.fromEntries(['a', 'b', 'c'].map((hash) => [hash, how(member, hash, 21)]))).toEqual(expected)
})

test('an answer that was on its way while its token was revoked is not kept', () => {
  const member = joined()
  const slow = lookUp(member, 'a', 10)
  expect(member.notice(tokenEnded(8, 'a'), 500)).toMatchObject([{ do: 'hear', seen: 8 }])
  member.answered(slow, answer(), 1_500)
  expect(how(member, 'a', 1_501)).toBe('new')
})

test('acknowledges a number after it forgot, and never a lower one', () => {
  const member = joined()
  expect(member.notice(tokenEnded(8, 'a'), 10)).toMatchObject([{ seen: 8 }])
  expect(member.notice(tokenEnded(8, 'a'), 11)).toEqual([])
  expect(member.tick(12)).toMatchObject([{ seen: 8 }])
})

test.for<[string, (member: Member) => unknown]>([
  ['the connection is lost', (m) => m.disconnected()],
  ['the store does not know the member', (m) => m.heard(hearOf(m), undefined, 20)],
  ['the store has a number that was never heard', (m) => m.heard(hearOf(m), 9, 20)],
  ['the store went back', (m) => m.heard(hearOf(m), 6, 20)],
  ['a notice has another mark', (m) => m.notice(tokenEnded(8, 'z', 'mark-2'), 20)],
  ['a notice cannot be read', (m) => m.notice(undefined, 20)],
])('stops believing at once when %s, and forgets all before it believes again', ([, fail]) => {
  const member = joined()
  keep(member, 'a', 10)
  const slow = lookUp(member, 'b', 10)
  fail(member)
  expect([member.isValid(21), how(member, 'a', 21), how(member, 'b', 21)]).toEqual([false, 'alone', 'alone'])
  const [join] = member.connected(30) as [Join]
  expect(join).toMatchObject({ do: 'join' })
  expect(join.id).not.toBe('api.1')
  member.joined(join, { mark: MARK, number: 20 }, 31)
  member.answered(slow, answer(), 32)
  expect([how(member, 'a', 33), how(member, 'b', 33)]).toEqual(['new', 'new'])
})
const hearOf = (member: Member) => {
  const [hear] = member.tick(15)
  if (hear?.do !== 'hear') throw new Error('not a member')
  return hear
}

test('a store with a higher number does not prolong the lease; once that number is heard it does', () => {
  const member = joined()
  const early = hearOf(member)
  const [acknowledged] = member.notice(tokenEnded(8, 'a'), 16)
  expect(member.heard(early, 8, 17)).toEqual([])
  expect(member.isValid(LEASE_MS)).toBe(false)
  if (acknowledged?.do === 'hear') member.heard(acknowledged, 8, 18)
  expect(member.isValid(LEASE_MS)).toBe(true)
})

test('a notice that overtakes the answer to a join is acknowledged after it', () => {
  const member = joined()
  member.disconnected()
  const [join] = member.connected(30) as [Join]
  expect(member.notice(tokenEnded(9, 'a'), 31)).toEqual([])
  expect(member.joined(join, { mark: MARK, number: 8 }, 32)).toMatchObject([{ do: 'hear', seen: 9 }])
})

test('an answer to an earlier join or renewal changes nothing', () => {
  const member = joined()
  const late = hearOf(member)
  member.disconnected()
  const [first] = member.connected(30) as [Join]
  member.disconnected()
  const [second] = member.connected(40) as [Join]
  member.joined(first, { mark: MARK, number: 20 }, 41)
  expect(member.heard(late, undefined, 42)).toEqual([])
  expect(member.isValid(43)).toBe(false)
  member.joined(second, { mark: MARK, number: 20 }, 44)
  expect(member.isValid(45)).toBe(true)
})

test('where nobody revokes there is no lease, and the next tick asks again', () => {
  const member = revocationMember({ name: 'api', leaseMs: LEASE_MS, keepMs: 30_000, mostKept: 100 })
  const [join] = member.connected(0) as [Join]
  expect(member.tick(1)).toEqual([])
  expect(member.joined(join, undefined, 2)).toEqual([])
  expect(member.isValid(3)).toBe(false)
  expect(member.tick(500)).toMatchObject([{ do: 'join' }])
})

test.for<[string, Parameters<Member['answered']>[1]]>([
  ['that says inactive', { active: false }],
  ['that did not come', undefined],
  ['whose end nobody tells', UNTOLD],
  ['whose end another store tells', answer({ endsToldBy: 'mark-2' })],
])('an answer %s is not kept', ([, given]) => {
  const member = joined()
  member.answered(lookUp(member, 'a', 10), given, 11)
  expect(how(member, 'a', 12)).toBe('new')
})

test('an answer that comes when the lease is over is not kept', () => {
  const member = joined()
  const slow = lookUp(member, 'a', 10)
  const [hear] = member.tick(LEASE_MS - 1)
  member.answered(slow, answer(), LEASE_MS)
  if (hear?.do === 'hear') member.heard(hear, 7, LEASE_MS + 1)
  expect(how(member, 'a', LEASE_MS + 2)).toBe('new')
})

test('keeps no answer for longer than it may, and no more than it may', () => {
  const member = joined({ keepMs: 100, mostKept: 2 })
  for (const hash of ['a', 'b']) keep(member, hash, 10)
  expect(how(member, 'a', 20)).toBe('kept')
  keep(member, 'c', 30)
  expect(member.kept).toBe(2)
  expect([how(member, 'a', 40), how(member, 'b', 40), how(member, 'c', 40)]).toEqual(['kept', 'new', 'kept'])
  expect([how(member, 'a', 110), how(member, 'c', 110)]).toEqual(['new', 'kept'])
})

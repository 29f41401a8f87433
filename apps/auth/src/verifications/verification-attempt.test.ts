import { HOUR_MS, MINUTE_MS, RULES } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import {
  type AttemptState,
  CLOSED_STATES,
  computeState,
  computeStateAfterMail,
  countTry,
  decline,
  OPEN_STATES,
  redeem,
  showCode,
  type VerificationAttempt,
} from './verification-attempt.ts'

const start = new Date('2026-11-20T09:00:00Z')
const after = (ms: number) => new Date(start.getTime() + ms)

const hash = Buffer.alloc(32, 1)
const attemptIn = (state: AttemptState, change: Partial<VerificationAttempt> = {}): VerificationAttempt => ({
  id: 'cla_x',
  registrationId: 'clm_x',
  agentId: 'agt_x',
  purpose: 'agent',
  state,
  linkExpiresAt: after(RULES.claimLinkMs),
  presses: state === 'code_shown' ? 1 : 0,
  tries: 0,
  code: state === 'code_shown' ? { hash, expiresAt: after(RULES.claimCodeMs) } : undefined,
  ...change,
})
const FREE = { blocked: false, tries: 0 }
const error = (reason: string) => ({ ok: false, error: reason })

describe.for(CLOSED_STATES.filter((state) => state !== 'failed'))('what is %s stays so:', (state) => {
  const attempt = attemptIn(state, { code: { hash, expiresAt: after(RULES.claimCodeMs) } })
  test('no code, no answer, no try, no claim, no mail changes it', () => {
    expect(computeState(attempt, start)).toBe(state)
    expect(showCode(attempt, FREE, start)).toEqual(error(state))
    expect(decline(attempt, start)).toEqual(error(state))
    expect(countTry(attempt, FREE, start)).toEqual(error(state))
    expect(redeem(attempt, { hash, blocked: false }, start)).toEqual(error(state))
    for (const outcome of ['sent', 'dropped', 'dead'] as const)
      expect(computeStateAfterMail(state, outcome)).toBeUndefined()
  })
})

test('a locked mailbox makes every code of a sign-in wrong, and the remaining tries do not reveal it', () => {
  const attempt = attemptIn('code_shown', { purpose: 'sign-in' })
  expect(countTry(attempt, { blocked: false, tries: 0 }, start)).toEqual({
    ok: true,
    value: { tries: 1, remaining: 4, mayMatch: true },
  })
  for (const tries of [9, 10, 50])
    expect(countTry(attempt, { blocked: false, tries }, start)).toEqual({
      ok: true,
      value: { tries: 1, remaining: 4, mayMatch: tries < 10 },
    })
  expect(countTry(attemptIn('code_shown'), { blocked: false, tries: 10 }, start)).toEqual(error('locked'))
})

test('a failed attempt is closed for the person, and open for its agent until the link expires', () => {
  const attempt = attemptIn('failed')
  const last = after(RULES.claimLinkMs - 1)
  for (const now of [start, last]) {
    expect(computeState(attempt, now)).toBe('failed')
    expect(showCode(attempt, FREE, now)).toEqual(error('failed'))
    expect(decline(attempt, now)).toEqual(error('failed'))
    expect(countTry(attempt, FREE, now)).toEqual(countTry(attemptIn('sent'), FREE, now))
    expect(countTry(attempt, FREE, now)).toEqual(error('code-not-shown'))
    expect(redeem(attempt, { hash, blocked: false }, now)).toEqual(error('code-not-shown'))
  }
  const over = after(RULES.claimLinkMs)
  expect(countTry(attempt, FREE, over)).toEqual(error('expired'))
  expect(redeem(attempt, { hash, blocked: false }, over)).toEqual(error('expired'))
  for (const outcome of ['sent', 'dropped', 'dead'] as const)
    expect(computeStateAfterMail('failed', outcome)).toBeUndefined()
})

describe.for(OPEN_STATES)('what is %s', (state) => {
  const attempt = attemptIn(state)
  test('gives a code that lasts ten minutes', () => {
    const presses = attempt.presses + 1
    expect(showCode(attempt, FREE, start)).toEqual({
      ok: true,
      value: { presses, codeExpiresAt: after(10 * MINUTE_MS) },
    })
  })

  test('can be declined, which blocks the mailbox for thirty days', () => {
    expect(decline(attempt, start)).toEqual({ ok: true, value: { blockedUntil: after(30 * 24 * HOUR_MS) } })
  })

  test.for([
    [RULES.claimLinkMs - 1, state],
    [RULES.claimLinkMs, 'expired'],
    [RULES.claimLinkMs + 1, 'expired'],
  ] as const)('%i ms after its mail it is %s', ([ms, now]) => {
    expect(computeState(attempt, after(ms))).toBe(now)
    expect(showCode(attempt, FREE, after(ms)).ok).toBe(now === state)
    expect(decline(attempt, after(ms)).ok).toBe(now === state)
    if (now === 'expired') {
      expect(countTry(attempt, FREE, after(ms))).toEqual(error('expired'))
      expect(redeem(attempt, { hash, blocked: false }, after(ms))).toEqual(error('expired'))
    }
  })

  test('does not proceed when its mailbox is blocked', () => {
    const blocked = { blocked: true, tries: 0 }
    expect(showCode(attempt, blocked, start)).toEqual(error('declined'))
    const untold = state === 'code_shown' ? 'declined' : 'code-not-shown'
    expect(countTry(attempt, blocked, start)).toEqual(error(untold))
    expect(redeem(attempt, { hash, blocked: true }, start)).toEqual(error('declined'))
  })

  test('is locked by five tries', () => {
    expect(computeState({ ...attempt, tries: 4 }, start)).toBe(state)
    expect(computeState({ ...attempt, tries: 5 }, start)).toBe('locked')
    expect(showCode({ ...attempt, tries: 5 }, FREE, start)).toEqual(error('locked'))
    expect(countTry({ ...attempt, tries: 5 }, FREE, start)).toEqual(error('locked'))
  })
})

test('shows at most three codes, and none after the link has expired', () => {
  const attempt = attemptIn('code_shown', { presses: 2 })
  expect(showCode(attempt, FREE, start).ok).toBe(true)
  expect(showCode({ ...attempt, presses: 3 }, FREE, start)).toEqual(error('no-codes-left'))
  const late = after(RULES.claimLinkMs - MINUTE_MS)
  expect(showCode(attempt, FREE, late)).toMatchObject({ value: { codeExpiresAt: attempt.linkExpiresAt } })
})

test.for(['initiated', 'sent'] as const)('before a code was shown no try counts (%s)', (state) => {
  expect(countTry(attemptIn(state), FREE, start)).toEqual(error('code-not-shown'))
  expect(redeem(attemptIn(state), { hash, blocked: false }, start)).toEqual(error('code-not-shown'))
})

test.for([
  [10 * MINUTE_MS - 1_000, true],
  [10 * MINUTE_MS, false],
  [10 * MINUTE_MS + 1_000, false],
] as const)('a code entered %i ms after it was shown: %s', ([ms, good]) => {
  const attempt = attemptIn('code_shown')
  const expected = good ? { ok: true } : error('code-expired')
  expect(countTry(attempt, FREE, after(ms))).toMatchObject(expected)
  expect(redeem(attempt, { hash, blocked: false }, after(ms))).toMatchObject(expected)
})

test('reports the lower of the tries left for the attempt and for the mailbox', () => {
  const remaining = (tries: number, ofMailbox: number) => {
    const counted = countTry(attemptIn('code_shown', { tries }), { blocked: false, tries: ofMailbox }, start)
    return counted.ok ? counted.value.remaining : counted.error
  }
  expect([0, 1, 2, 3, 4].map((tries) => remaining(tries, tries))).toEqual([4, 3, 2, 1, 0])
  expect([5, 6, 8, 9, 10].map((tries) => remaining(0, tries))).toEqual([4, 3, 1, 0, 'locked'])
})

test('makes no claim of an earlier code, or of another attempt’s code', () => {
  const other = Buffer.alloc(32, 2)
  expect(redeem(attemptIn('code_shown'), { hash: other, blocked: false }, start)).toEqual(
    error('code-expired'),
  )
})

test('accepts the right code at the fifth try', () => {
  expect(redeem(attemptIn('code_shown', { tries: 5 }), { hash, blocked: false }, start).ok).toBe(true)
})

test.for([
  ['initiated', 'sent', 'sent'],
  ['initiated', 'dead', 'failed'],
  ['initiated', 'dropped', undefined],
  ['sent', 'dead', undefined],
  ['code_shown', 'sent', undefined],
] as const)('%s, and its mail %s: %s', ([state, outcome, next]) => {
  expect(computeStateAfterMail(state, outcome)).toBe(next)
})

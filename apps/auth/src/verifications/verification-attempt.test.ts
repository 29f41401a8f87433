import { HOUR_MS, MINUTE_MS, RULES } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import {
  type AttemptState,
  CLOSED_STATES,
  computeState,
  computeStateAfterMail,
  decideDeclining,
  decideRedemption,
  decideShowingCode,
  decideTry,
  OPEN_STATES,
  type VerificationAttempt,
} from './verification-attempt.ts'

const start = new Date('2026-11-20T09:00:00Z')
const after = (ms: number) => new Date(start.getTime() + ms)

const hash = Buffer.alloc(32, 1)
const buildAttempt = (
  state: AttemptState,
  overrides: Partial<VerificationAttempt> = {},
): VerificationAttempt => ({
  id: 'cla_x',
  registrationId: 'clm_x',
  agentId: 'agt_x',
  purpose: 'agent',
  state,
  linkExpiresAt: after(RULES.verificationLinkMs),
  presses: state === 'code_shown' ? 1 : 0,
  tries: 0,
  code: state === 'code_shown' ? { hash, expiresAt: after(RULES.verificationCodeMs) } : undefined,
  hasMailboxHash: (OPEN_STATES as readonly string[]).includes(state),
  ...overrides,
})
/** A mailbox whose owner has declined nothing, and for which no wrong code was entered. */
const UNBLOCKED = { isBlocked: false, tries: 0 }
const refusal = (reason: string) => ({ ok: false, error: reason })

// A separate test covers `failed`, which agents see as `sent`.
describe.for(CLOSED_STATES.filter((state) => state !== 'failed'))('an attempt that is %s', (state) => {
  const attempt = buildAttempt(state, { code: { hash, expiresAt: after(RULES.verificationCodeMs) } })
  test('refuses to show a code, to be declined, tried or redeemed, and ignores its mail', () => {
    expect(computeState(attempt, start)).toBe(state)
    expect(decideShowingCode(attempt, UNBLOCKED, start)).toEqual(refusal(state))
    expect(decideDeclining(attempt, start)).toEqual(refusal(state))
    expect(decideTry(attempt, UNBLOCKED, start)).toEqual(refusal(state))
    expect(decideRedemption(attempt, { hash, isBlocked: false }, start)).toEqual(refusal(state))
    for (const outcome of ['sent', 'dropped', 'dead'] as const)
      expect(computeStateAfterMail(state, outcome)).toBeUndefined()
  })
})

test.for(['superseded', 'locked'] as const)(
  'an attempt that is %s can be declined until the link expires, while the hash of the mailbox is stored, and nothing else',
  (state) => {
    const code = { hash, expiresAt: after(RULES.verificationCodeMs) }
    const attempt = buildAttempt(state, { hasMailboxHash: true, code })
    const beforeExpiry = after(RULES.verificationLinkMs - 1)
    expect(decideDeclining(attempt, beforeExpiry)).toMatchObject({ ok: true })
    expect(decideDeclining(attempt, after(RULES.verificationLinkMs))).toEqual(refusal(state))
    expect(decideDeclining({ ...attempt, hasMailboxHash: false }, start)).toEqual(refusal(state))
    expect(decideShowingCode(attempt, UNBLOCKED, start)).toEqual(refusal(state))
    expect(decideTry(attempt, UNBLOCKED, start)).toEqual(refusal(state))
    expect(decideRedemption(attempt, { hash, isBlocked: false }, start)).toEqual(refusal(state))
  },
)

test('after ten wrong codes for a mailbox, every sign-in code is wrong, and the number of remaining tries does not reveal why', () => {
  const attempt = buildAttempt('code_shown', { purpose: 'sign-in' })
  expect(decideTry(attempt, { isBlocked: false, tries: 0 }, start)).toEqual({
    ok: true,
    value: { tries: 1, remaining: 4, mayMatch: true },
  })
  for (const tries of [9, 10, 50])
    expect(decideTry(attempt, { isBlocked: false, tries }, start)).toEqual({
      ok: true,
      value: { tries: 1, remaining: 4, mayMatch: tries < 10 },
    })
  expect(decideTry(buildAttempt('code_shown'), { isBlocked: false, tries: 10 }, start)).toEqual(
    refusal('locked'),
  )
})

test('an attempt whose mail failed is closed for the person, but looks sent to its agent until the link expires', () => {
  const attempt = buildAttempt('failed')
  const beforeExpiry = after(RULES.verificationLinkMs - 1)
  for (const now of [start, beforeExpiry]) {
    expect(computeState(attempt, now)).toBe('failed')
    expect(decideShowingCode(attempt, UNBLOCKED, now)).toEqual(refusal('failed'))
    expect(decideDeclining(attempt, now)).toEqual(refusal('failed'))
    expect(decideTry(attempt, UNBLOCKED, now)).toEqual(decideTry(buildAttempt('sent'), UNBLOCKED, now))
    expect(decideTry(attempt, UNBLOCKED, now)).toEqual(refusal('code-not-shown'))
    expect(decideRedemption(attempt, { hash, isBlocked: false }, now)).toEqual(refusal('code-not-shown'))
  }
  const expiresAt = after(RULES.verificationLinkMs)
  expect(decideTry(attempt, UNBLOCKED, expiresAt)).toEqual(refusal('expired'))
  expect(decideRedemption(attempt, { hash, isBlocked: false }, expiresAt)).toEqual(refusal('expired'))
  for (const outcome of ['sent', 'dropped', 'dead'] as const)
    expect(computeStateAfterMail('failed', outcome)).toBeUndefined()
})

describe.for(OPEN_STATES)('an attempt that is %s', (state) => {
  const attempt = buildAttempt(state)
  test('can show a code that is valid for ten minutes', () => {
    const presses = attempt.presses + 1
    expect(decideShowingCode(attempt, UNBLOCKED, start)).toEqual({
      ok: true,
      value: { presses, codeExpiresAt: after(10 * MINUTE_MS) },
    })
  })

  test('can be declined, which blocks the mailbox for thirty days', () => {
    expect(decideDeclining(attempt, start)).toEqual({
      ok: true,
      value: { blockedUntil: after(30 * 24 * HOUR_MS) },
    })
  })

  test.for([
    [RULES.verificationLinkMs - 1, state],
    [RULES.verificationLinkMs, 'expired'],
    [RULES.verificationLinkMs + 1, 'expired'],
  ] as const)('has, %i ms after it began, the state %s', ([ms, expectedState]) => {
    expect(computeState(attempt, after(ms))).toBe(expectedState)
    expect(decideShowingCode(attempt, UNBLOCKED, after(ms)).ok).toBe(expectedState === state)
    expect(decideDeclining(attempt, after(ms)).ok).toBe(expectedState === state)
    if (expectedState === 'expired') {
      expect(decideTry(attempt, UNBLOCKED, after(ms))).toEqual(refusal('expired'))
      expect(decideRedemption(attempt, { hash, isBlocked: false }, after(ms))).toEqual(refusal('expired'))
    }
  })

  test('is declined if its mailbox is blocked, which its agent learns only after a code was shown', () => {
    const blockedMailbox = { isBlocked: true, tries: 0 }
    expect(decideShowingCode(attempt, blockedMailbox, start)).toEqual(refusal('declined'))
    const reasonForAgent = state === 'code_shown' ? 'declined' : 'code-not-shown'
    expect(decideTry(attempt, blockedMailbox, start)).toEqual(refusal(reasonForAgent))
    expect(decideRedemption(attempt, { hash, isBlocked: true }, start)).toEqual(refusal('declined'))
  })

  test('is locked after five tries', () => {
    expect(computeState({ ...attempt, tries: 4 }, start)).toBe(state)
    expect(computeState({ ...attempt, tries: 5 }, start)).toBe('locked')
    expect(decideDeclining({ ...attempt, tries: 5 }, start).ok).toBe(true)
    expect(decideShowingCode({ ...attempt, tries: 5 }, UNBLOCKED, start)).toEqual(refusal('locked'))
    expect(decideTry({ ...attempt, tries: 5 }, UNBLOCKED, start)).toEqual(refusal('locked'))
  })
})

test('an attempt shows at most three codes, and none is valid for longer than the link', () => {
  const attempt = buildAttempt('code_shown', { presses: 2 })
  expect(decideShowingCode(attempt, UNBLOCKED, start).ok).toBe(true)
  expect(decideShowingCode({ ...attempt, presses: 3 }, UNBLOCKED, start)).toEqual(refusal('no-codes-left'))
  const nearExpiry = after(RULES.verificationLinkMs - MINUTE_MS)
  expect(decideShowingCode(attempt, UNBLOCKED, nearExpiry)).toMatchObject({
    value: { codeExpiresAt: attempt.linkExpiresAt },
  })
})

test.for(['initiated', 'sent'] as const)(
  'an attempt that is %s refuses a try, because no code was shown',
  (state) => {
    expect(decideTry(buildAttempt(state), UNBLOCKED, start)).toEqual(refusal('code-not-shown'))
    expect(decideRedemption(buildAttempt(state), { hash, isBlocked: false }, start)).toEqual(
      refusal('code-not-shown'),
    )
  },
)

test.for([
  [10 * MINUTE_MS - 1_000, true],
  [10 * MINUTE_MS, false],
  [10 * MINUTE_MS + 1_000, false],
] as const)('a code that was shown %i ms ago is valid: %s', ([ms, isValid]) => {
  const attempt = buildAttempt('code_shown')
  const expected = isValid ? { ok: true } : refusal('code-expired')
  expect(decideTry(attempt, UNBLOCKED, after(ms))).toMatchObject(expected)
  expect(decideRedemption(attempt, { hash, isBlocked: false }, after(ms))).toMatchObject(expected)
})

test('decideTry reports the remaining tries of the attempt or of the mailbox, whichever are fewer', () => {
  const countRemaining = (tries: number, mailboxTries: number) => {
    const mailbox = { isBlocked: false, tries: mailboxTries }
    const counted = decideTry(buildAttempt('code_shown', { tries }), mailbox, start)
    return counted.ok ? counted.value.remaining : counted.error
  }
  expect([0, 1, 2, 3, 4].map((tries) => countRemaining(tries, tries))).toEqual([4, 3, 2, 1, 0])
  expect([5, 6, 8, 9, 10].map((tries) => countRemaining(0, tries))).toEqual([4, 3, 1, 0, 'locked'])
})

test('decideRedemption refuses a code with another hash', () => {
  const otherHash = Buffer.alloc(32, 2)
  expect(decideRedemption(buildAttempt('code_shown'), { hash: otherHash, isBlocked: false }, start)).toEqual(
    refusal('code-expired'),
  )
})

test('decideRedemption accepts the correct code after five tries', () => {
  expect(
    decideRedemption(buildAttempt('code_shown', { tries: 5 }), { hash, isBlocked: false }, start).ok,
  ).toBe(true)
})

test.for([
  ['initiated', 'sent', 'sent'],
  ['initiated', 'dead', 'failed'],
  ['initiated', 'dropped', undefined],
  ['sent', 'dead', undefined],
  ['code_shown', 'sent', undefined],
] as const)(
  'computeStateAfterMail for the state %s and a mail that is %s returns %s',
  ([state, outcome, nextState]) => {
    expect(computeStateAfterMail(state, outcome)).toBe(nextState)
  },
)

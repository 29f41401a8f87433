import { RULES } from '@plainpath/domain'
import { expect, test } from 'vitest'
import type { AttemptState } from '../verifications/verification-attempt.ts'
import { computeSignInStep, decideCodeMail, type SignInAttempt } from './sign-in.ts'
import { buildPageCsp } from './sign-in-routes.ts'

const START = new Date('2026-11-20T09:00:00Z')
const addMs = (ms: number) => new Date(START.getTime() + ms)
/** The hashes of two addresses. */
const anaHash = Buffer.alloc(32, 1)
const benHash = Buffer.alloc(32, 2)
const createAttempt = (state: AttemptState = 'code_shown'): SignInAttempt => ({
  id: 'cla_x',
  registrationId: 'clm_x',
  agentId: 'agt_x',
  purpose: 'sign-in',
  state,
  linkExpiresAt: addMs(RULES.verificationCodeMs),
  presses: 1,
  tries: 0,
  code: { hash: anaHash, expiresAt: addMs(RULES.verificationCodeMs) },
  createdAt: START,
  emailHash: anaHash,
  hasMailboxHash: true,
})
const ALLOWED = { ok: true, value: undefined }
const refuse = (error: string) => ({ ok: false, error })

// The columns: the title, the number of mailed codes, the current attempt, the hash of the address, the milliseconds since
// `START`, and the decision.
test.for([
  ['allows the first code', 0, undefined, anaHash, 0, ALLOWED],
  ['refuses a second code immediately', 1, createAttempt(), anaHash, 0, refuse('too-soon')],
  [
    'refuses a second code within a minute',
    1,
    createAttempt(),
    anaHash,
    RULES.signInResendMs - 1,
    refuse('too-soon'),
  ],
  ['allows a second code after a minute', 1, createAttempt(), anaHash, RULES.signInResendMs, ALLOWED],
  ['allows a second code to another address immediately', 1, createAttempt(), benHash, 0, ALLOWED],
  ['allows a second code once the first is locked', 1, { ...createAttempt(), tries: 5 }, anaHash, 0, ALLOWED],
  ['allows a third code', 2, createAttempt(), benHash, 0, ALLOWED],
  ['refuses a fourth code', 3, createAttempt(), benHash, 0, refuse('no-codes-left')],
  [
    'refuses a fourth code after the third expired',
    3,
    createAttempt('expired'),
    anaHash,
    RULES.verificationCodeMs,
    refuse('no-codes-left'),
  ],
] as const)('decideCodeMail %s', ([, mailedCodeCount, currentAttempt, emailHash, ms, decision]) => {
  expect(decideCodeMail(mailedCodeCount, currentAttempt, emailHash, addMs(ms))).toEqual(decision)
})

// The columns: the state of the current attempt, the codes left, whether the connection is allowed, and the step.
test.for([
  [undefined, 3, false, { step: 'address' }],
  ['code_shown', 2, false, { step: 'code' }],
  ['code_shown', 0, false, { step: 'code' }],
  ['expired', 1, false, { step: 'address', lastCodeState: 'expired' }],
  ['locked', 1, false, { step: 'address', lastCodeState: 'locked' }],
  ['superseded', 1, false, { step: 'address' }],
  ['locked', 0, false, { step: 'no-codes-left' }],
  ['completed', 2, true, { step: 'allowed' }],
  // The connection was revoked after the sign-in was completed.
  ['completed', 2, false, { step: 'address' }],
] as const satisfies [unknown, number, boolean, object][])(
  'computeSignInStep for an attempt in the state %s, with %i codes left, allowed: %s',
  ([state, codesLeft, isAllowed, step]) => {
    expect(computeSignInStep(state, { codesLeft, isAllowed })).toEqual(step)
  },
)

test.for([
  ['https://claude.ai/cb', "form-action 'self' https:;"],
  ['http://localhost:3118/cb', "form-action 'self' https: http://localhost:3118;"],
  // A policy cannot name an IPv6 address, so it allows the scheme.
  ['http://[::1]:3118/cb', "form-action 'self' https: http:;"],
  ['cursor://anysphere.cursor-mcp/cb', "form-action 'self' https: cursor:;"],
] as const)('the policy of the page lets its form lead to %s, and forbids framing', ([uri, directive]) => {
  expect(buildPageCsp(uri)).toContain(`; ${directive} `)
  expect(buildPageCsp(uri)).toContain("frame-ancestors 'none'")
})

import { RULES } from '@plainpath/domain'
import { expect, test } from 'vitest'
import type { AttemptState } from '../verifications/verification-attempt.ts'
import { computeSignInStep, decideCodeMail, type SignInAttempt } from './sign-in.ts'
import { buildPageCsp } from './sign-in-routes.ts'

const start = new Date('2026-11-20T09:00:00Z')
const after = (ms: number) => new Date(start.getTime() + ms)
const [ana, ben] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const attempt = (state: AttemptState = 'code_shown'): SignInAttempt => ({
  id: 'cla_x',
  registrationId: 'clm_x',
  agentId: 'agt_x',
  purpose: 'sign-in',
  state,
  linkExpiresAt: after(RULES.claimCodeMs),
  presses: 1,
  tries: 0,
  code: { hash: ana, expiresAt: after(RULES.claimCodeMs) },
  createdAt: start,
  emailHash: ana,
})
const yes = { ok: true, value: undefined }
const no = (error: string) => ({ ok: false, error })

test.for([
  ['the first code', 0, undefined, ana, 0, yes],
  ['another at once', 1, attempt(), ana, 0, no('too-soon')],
  ['another just before a minute', 1, attempt(), ana, RULES.signInResendMs - 1, no('too-soon')],
  ['another after a minute', 1, attempt(), ana, RULES.signInResendMs, yes],
  ['one to another address at once', 1, attempt(), ben, 0, yes],
  ['another at once when the first no longer works', 1, { ...attempt(), tries: 5 }, ana, 0, yes],
  ['the third', 2, attempt(), ben, 0, yes],
  ['the fourth', 3, attempt(), ben, 0, no('no-codes-left')],
  ['the fourth after the others expired', 3, attempt('expired'), ana, RULES.claimCodeMs, no('no-codes-left')],
] as const)('%s', ([, sent, newest, emailHash, ms, decided]) => {
  expect(decideCodeMail(sent, newest, emailHash, after(ms))).toEqual(decided)
})

test.for([
  [undefined, 3, false, { step: 'address' }],
  ['code_shown', 2, false, { step: 'code' }],
  ['code_shown', 0, false, { step: 'code' }],
  ['expired', 1, false, { step: 'address', lastCode: 'expired' }],
  ['locked', 1, false, { step: 'address', lastCode: 'locked' }],
  ['superseded', 1, false, { step: 'address' }],
  ['locked', 0, false, { step: 'no-codes-left' }],
  ['completed', 2, true, { step: 'allowed' }],
  // The connection was ended meanwhile.
  ['completed', 2, false, { step: 'address' }],
] as const satisfies [unknown, number, boolean, object][])(
  'after %s, with %i codes left, allowed: %s',
  ([state, codesLeft, isAllowed, step]) => {
    expect(computeSignInStep(state, { codesLeft, isAllowed })).toEqual(step)
  },
)

test.for([
  ['https://claude.ai/cb', "form-action 'self' https:;"],
  ['http://localhost:3118/cb', "form-action 'self' https: http://localhost:3118;"],
  ['http://[::1]:3118/cb', "form-action 'self' https: http:;"],
  ['cursor://anysphere.cursor-mcp/cb', "form-action 'self' https: cursor:;"],
] as const)('the form of a sign-in for %s may lead there', ([uri, directive]) => {
  expect(buildPageCsp(uri)).toContain(`; ${directive} `)
  expect(buildPageCsp(uri)).toContain("frame-ancestors 'none'")
})

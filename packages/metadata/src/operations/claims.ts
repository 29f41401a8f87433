import { BeginClaimRequest, BegunClaim, CompleteClaimRequest, CompletedClaim } from '@plainpath/domain'
import { CLIENT_AUTHENTICATION } from './agents.ts'
import { assertionExample } from './assertions.ts'
import { defineOperation } from './operation.ts'

const IDS = {
  registration_id: 'clm_3q2-7wEhtsm0aKX9dPz1Vg',
  claim_attempt_id: 'cla_Yw0x2C8mFh5Rk7Tq1Vb4Zd',
}

export const beginClaim = defineOperation({
  method: 'post',
  path: '/api/agent/claim',
  operationId: 'beginClaim',
  tag: 'Agents',
  summary: 'Ask a person, by e-mail, to confirm that you act for them',
  description:
    `${CLIENT_AUTHENTICATION} A mail with one link goes to the address; ` +
    'show the person the `match_phrase`, and ask them for the code that the page behind the link shows. The answer ' +
    'is the same for every address, and says nothing of whether a mail went. Asking again supersedes the attempt ' +
    'before.',
  access: 'client',
  errors: 'agent',
  request: { body: BeginClaimRequest },
  bodyExamples: { email: () => ({ email: 'ana@example.org' }) },
  responses: { 202: BegunClaim },
  outcomes: {
    202: {
      description: 'The attempt is kept. If mail may go to the address, one will.',
      example: () => ({
        ...IDS,
        status: 'initiated',
        match_phrase: 'amber river',
        expires_at: '2026-11-21T14:00:00.000Z',
        delivery: { method: 'email', to: 'a•••@example.org' },
        otp_length: 6,
        attempts_allowed: 5,
        resend_after: 60,
      }),
    },
  },
})

export const completeClaim = defineOperation({
  method: 'post',
  path: '/api/agent/claim/complete',
  operationId: 'completeClaim',
  tag: 'Agents',
  summary: 'Give back the code that the person read to you',
  description:
    `${CLIENT_AUTHENTICATION} Five codes in all per attempt; a wrong one ` +
    'is 400 `otp-invalid` with `attempts_remaining`. Before the person let the page show a code: 409 ' +
    '`code-not-shown`, which counts as none.',
  access: 'client',
  errors: 'agent',
  request: { body: CompleteClaimRequest },
  bodyExamples: { otp: () => ({ otp: '493027' }) },
  responses: { 200: CompletedClaim },
  outcomes: {
    200: {
      description: 'The person has confirmed you, for 30 days.',
      example: (urls) => ({ ...IDS, status: 'completed', ...assertionExample(urls) }),
    },
  },
})

export const endClaim = defineOperation({
  method: 'delete',
  path: '/api/agent/claim',
  operationId: 'endClaim',
  tag: 'Agents',
  summary: 'End the claim, with its assertions and tokens, and an attempt that is open',
  description: `${CLIENT_AUTHENTICATION} The address is erased. The client itself and its other tokens stay.`,
  access: 'client',
  errors: 'agent',
  responses: { 204: null },
  outcomes: { 204: { description: 'There is no claim, and no open attempt.' } },
})

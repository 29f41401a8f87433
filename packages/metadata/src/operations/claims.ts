import {
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
  capitalised,
  durationIn,
  numberInWords,
  RenewedAssertion,
  RULES,
} from '@plainpath/domain'
import { JWT_BEARER_GRANT } from '../oauth-metadata.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { CLIENT_AUTHENTICATION } from './agents.ts'
import { defineOperation, EXAMPLE_USE_MS, exampleTime } from './operation.ts'

/** A code as the page would show it. */
const exampleCode = (): string => '4930275816'.slice(0, RULES.claimCodeDigits)

const IDS = {
  registration_id: 'clm_3q2-7wEhtsm0aKX9dPz1Vg',
  claim_attempt_id: 'cla_Yw0x2C8mFh5Rk7Tq1Vb4Zd',
}

/** What a client is answered with each assertion. */
const assertionExample = (urls: ServiceUrls) => ({
  identity_type: 'verified_email',
  identity_assertion: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImlkZW50aXR5LWFzc2VydGlvbitqd3QifQ.e30.c2lnbmF0dXJl',
  expires: exampleTime(EXAMPLE_USE_MS + RULES.identityAssertionMs),
  claim_expires_at: exampleTime(EXAMPLE_USE_MS + RULES.claimMs),
  grant_types: ['client_credentials', JWT_BEARER_GRANT],
  scopes: ['guides:read', 'waitlist:write', 'contact:write'],
  scope: 'guides:read waitlist:write contact:write',
  token_endpoint: urls.token,
})

export const beginClaim = defineOperation({
  method: 'post',
  path: '/api/agent/claim',
  operationId: 'beginClaim',
  tag: 'Agents',
  summary: 'Ask a person, by e-mail, to confirm that you act for them',
  description:
    `${CLIENT_AUTHENTICATION} A mail with one link goes to the address; ` +
    'show the person the `match_phrase`, and ask them for the code that the page behind the link shows. The answer ' +
    'is the same for every address, and says nothing of whether a mail went. If many mails to the domain are requested, the mail can be up to ' +
    `${durationIn('hour', RULES.dayMailWaitsMs)} late, and its link then works beyond \`expires_at\`; ` +
    'if too many are waiting, the response is 429 (`policy` `mails-waiting`). Asking again supersedes the attempt before.',
  access: 'client',
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
        expires_at: exampleTime(RULES.claimLinkMs),
        delivery: { method: 'email', to: 'a•••@example.org' },
        otp_length: RULES.claimCodeDigits,
        attempts_allowed: RULES.claimTries,
        resend_after: RULES.claimResendMs / 1000,
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
    `${CLIENT_AUTHENTICATION} ${capitalised(numberInWords(RULES.claimTries))} codes in all per attempt; a wrong one ` +
    'is 400 `otp-invalid` with `attempts_remaining`. Before the person let the page show a code: 409 ' +
    '`code-not-shown`, which counts as none. That is the answer, too, when the mail could not be delivered, until the ' +
    'link ends: then 410 `claim-expired`.',
  access: 'client',
  request: { body: CompleteClaimRequest },
  bodyExamples: { otp: () => ({ otp: exampleCode() }) },
  responses: { 200: CompletedClaim },
  outcomes: {
    200: {
      description: `The person has confirmed you, for ${durationIn('day', RULES.claimMs)}.`,
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
  responses: { 204: null },
  outcomes: { 204: { description: 'There is no claim, and no open attempt.' } },
})

export const createAssertion = defineOperation({
  method: 'post',
  path: '/api/agent/assertion',
  operationId: 'createAssertion',
  tag: 'Agents',
  summary: 'Get another identity assertion while the claim stands',
  description:
    `${CLIENT_AUTHENTICATION} The assertion says that the person behind this client controls a mailbox; it holds no ` +
    `address, lasts up to ${durationIn('hour', RULES.identityAssertionMs)}, and only this client can exchange it. Without a claim: 409 \`no-claim\`.`,
  access: 'client',
  responses: { 200: RenewedAssertion },
  outcomes: {
    200: {
      description: 'An identity assertion.',
      example: (urls) => ({ registration_id: 'clm_3q2-7wEhtsm0aKX9dPz1Vg', ...assertionExample(urls) }),
    },
  },
})

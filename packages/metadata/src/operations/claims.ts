import {
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
  durationIn,
  numberInWords,
  RenewedAssertion,
  RULES,
  Scope,
} from '@plainpath/domain'
import { JWT_BEARER_GRANT_TYPE } from '../oauth-metadata.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { defineOperation, EXAMPLE_ASSERTION, EXAMPLE_FIRST_USE_MS, formatExampleTime } from './operation.ts'

/* The operations of e-mail verification, which the public API calls claims. */

/** Creates an example of the code that the page shows, in the configured length. */
const createExampleCode = (): string => '4930275816'.slice(0, RULES.verificationCodeDigits)

const EXAMPLE_IDS = {
  registration_id: 'clm_3q2-7wEhtsm0aKX9dPz1Vg',
  claim_attempt_id: 'cla_Yw0x2C8mFh5Rk7Tq1Vb4Zd',
}

/** Creates the example members of every response with an assertion. */
const createAssertionExample = (urls: ServiceUrls) => ({
  identity_type: 'verified_email',
  identity_assertion: EXAMPLE_ASSERTION,
  expires: formatExampleTime(EXAMPLE_FIRST_USE_MS + RULES.identityAssertionMs),
  claim_expires_at: formatExampleTime(EXAMPLE_FIRST_USE_MS + RULES.verificationMs),
  grant_types: ['client_credentials', JWT_BEARER_GRANT_TYPE],
  scopes: Scope.options,
  scope: Scope.options.join(' '),
  token_endpoint: urls.token,
})

export const beginClaim = defineOperation({
  method: 'post',
  path: '/api/agent/claim',
  operationId: 'beginClaim',
  tag: 'Agents',
  summary: 'Ask a person, by e-mail, to confirm that you act for them',
  description:
    'Starts e-mail verification: a mail with one link goes to the address. Show the person the `match_phrase`, and ask ' +
    'them for the code that the page behind the link shows. The response is the same for every address, whether a mail was ' +
    `sent or not. A new attempt supersedes the one before. A mail can be up to ${durationIn('hour', RULES.dayMailWaitsMs)} late ` +
    'if there are many to its domain, and its link then works after `expires_at`; if too many are waiting: 429 (`policy` ' +
    '`mails-waiting`).',
  access: 'client',
  request: { body: BeginClaimRequest },
  bodyExamples: { email: () => ({ email: 'ana@example.org' }) },
  responses: { 202: BegunClaim },
  responseDocs: {
    202: {
      description: 'The attempt is recorded.',
      example: () => ({
        ...EXAMPLE_IDS,
        status: 'initiated',
        match_phrase: 'amber river',
        expires_at: formatExampleTime(RULES.verificationLinkMs),
        delivery: { method: 'email', to: 'a•••@example.org' },
        otp_length: RULES.verificationCodeDigits,
        attempts_allowed: RULES.verificationTries,
        resend_after: RULES.verificationResendMs / 1000,
      }),
    },
  },
})

export const completeClaim = defineOperation({
  method: 'post',
  path: '/api/agent/claim/complete',
  operationId: 'completeClaim',
  tag: 'Agents',
  summary: 'Send the code that the person read to you',
  description:
    `An attempt takes ${numberInWords(RULES.verificationTries)} codes in all; a wrong one is 400 \`otp-invalid\` with ` +
    '`attempts_remaining`. Until the page has shown a code, and if the mail could not be delivered: 409 `code-not-shown`, ' +
    'which does not count. After the link has expired: 410 `claim-expired`.',
  access: 'client',
  request: { body: CompleteClaimRequest },
  bodyExamples: { otp: () => ({ otp: createExampleCode() }) },
  responses: { 200: CompletedClaim },
  responseDocs: {
    200: {
      description: `The person has confirmed you, for ${durationIn('day', RULES.verificationMs)}.`,
      example: (urls) => ({ ...EXAMPLE_IDS, status: 'completed', ...createAssertionExample(urls) }),
    },
  },
})

export const endClaim = defineOperation({
  method: 'delete',
  path: '/api/agent/claim',
  operationId: 'endClaim',
  tag: 'Agents',
  summary: 'Revoke the e-mail verification, its assertions and tokens, and cancel an open attempt',
  description: 'The address is erased. The client itself and its other tokens stay.',
  access: 'client',
  responses: { 204: null },
  responseDocs: { 204: { description: 'There is no e-mail verification, and no open attempt.' } },
})

export const createAssertion = defineOperation({
  method: 'post',
  path: '/api/agent/assertion',
  operationId: 'createAssertion',
  tag: 'Agents',
  summary: 'Get another identity assertion while the e-mail verification is valid',
  description:
    'The assertion says that the person behind this client controls a mailbox. It contains no address, is valid for ' +
    `${durationIn('hour', RULES.identityAssertionMs)} at most, and only this client can exchange it. Without an e-mail verification: 409 \`no-claim\`.`,
  access: 'client',
  responses: { 200: RenewedAssertion },
  responseDocs: {
    200: {
      description: 'An identity assertion.',
      example: (urls) => ({ registration_id: 'clm_3q2-7wEhtsm0aKX9dPz1Vg', ...createAssertionExample(urls) }),
    },
  },
})

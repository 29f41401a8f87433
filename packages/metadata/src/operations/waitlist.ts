import {
  AlreadyOnWaitlist,
  durationInWords,
  ForgetWaitlistAccepted,
  ForgetWaitlistRequest,
  JoinedWaitlist,
  JoinWaitlistRequest,
  ReferralSlug,
  RULES,
} from '@plainpath/domain'
import { defineOperation } from './operation.ts'

const EXAMPLE_SLUG = ReferralSlug.parse(
  'k3v7q2mzt5ndw4ha'.padEnd(RULES.referralSlugCharacters, 'k').slice(0, RULES.referralSlugCharacters),
)

export const joinWaitlist = defineOperation({
  method: 'post',
  path: '/api/waitlist',
  operationId: 'joinWaitlist',
  tag: 'Waitlist',
  summary: 'Join the product waitlist',
  description:
    'Ask the person before you send their address. Addresses are compared without regard to case; of simultaneous requests ' +
    'with one address, exactly one gets 201. One mail follows, with the referral link and pages to confirm and to leave; if ' +
    'it was never sent, a repeated request sends it again. Referrals count once confirmed. The mail can be up to ' +
    `${durationInWords('day', RULES.mailWaitsMs)} late if there are many to its domain; if too many are waiting: 429 (\`policy\` ` +
    '`mails-waiting`). A token is optional.',
  access: 'public',
  request: { body: JoinWaitlistRequest },
  bodyExamples: {
    plain: () => ({ email: 'ana@example.org' }),
    referred: () => ({ email: 'ben@example.org', referredBySlug: EXAMPLE_SLUG }),
  },
  responses: { 201: JoinedWaitlist, 200: AlreadyOnWaitlist },
  outcomes: {
    201: {
      description: 'The address joined the waitlist.',
      example: (urls) => ({
        status: 'joined',
        referralSlug: EXAMPLE_SLUG,
        referralUrl: urls.referral(EXAMPLE_SLUG),
      }),
    },
    200: {
      description: 'The address is already on the waitlist.',
      example: () => ({ status: 'already_joined' }),
    },
  },
  numberedErrors: { 400: 'The request is invalid: `errors` names each mistake.' },
})

export const forgetWaitlist = defineOperation({
  method: 'post',
  path: '/api/waitlist/forget',
  operationId: 'forgetWaitlist',
  tag: 'Waitlist',
  summary: 'Request removal from the waitlist',
  description:
    'If the address is on the list, a mail follows with a link to a page that removes it. The response is the same for ' +
    'every address. If too many mails are waiting: 429 (`policy` `mails-waiting`). A token is optional.',
  access: 'public',
  request: { body: ForgetWaitlistRequest },
  bodyExamples: { plain: () => ({ email: 'ana@example.org' }) },
  responses: { 202: ForgetWaitlistAccepted },
  outcomes: {
    202: {
      description: 'Accepted. A mail follows if the address is on the waitlist.',
      example: () => ({ status: 'accepted' }),
    },
  },
})

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

/** An example slug of the configured length, so that the examples stay valid when the length changes. */
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
    "Get the person's consent before you send their address. Addresses are case-insensitive. If several requests with the same " +
    'address arrive at the same time, exactly one of them gets 201. The person then gets one e-mail with the referral ' +
    'link, a link to confirm the address and a link to leave the waitlist. If that e-mail could not be delivered, repeat the ' +
    'request: the response is 200, and a new e-mail is queued. A referral counts when the referred person confirms. The e-mail ' +
    `can be delayed by up to ${durationInWords('day', RULES.mailWaitsMs)} if many e-mails are queued for its domain. If too many ` +
    'e-mails are waiting, the response is 429 with the `policy` `mails-waiting`. A token is optional.',
  access: 'public',
  request: { body: JoinWaitlistRequest },
  bodyExamples: {
    plain: () => ({ email: 'ana@example.org' }),
    referred: () => ({ email: 'ben@example.org', referredBySlug: EXAMPLE_SLUG }),
  },
  responses: { 201: JoinedWaitlist, 200: AlreadyOnWaitlist },
  responseDocs: {
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
  documentedErrors: { 400: 'The request is invalid: `errors` names each mistake.' },
})

/** Requests the removal of one address. The name is the published `operationId`. */
export const forgetWaitlist = defineOperation({
  method: 'post',
  path: '/api/waitlist/forget',
  operationId: 'forgetWaitlist',
  tag: 'Waitlist',
  summary: 'Request removal from the waitlist',
  description:
    'If the address is on the waitlist, the person gets an e-mail with a link to the removal page. The response is the same for ' +
    'every address. If too many e-mails are waiting, the response is 429 with the `policy` `mails-waiting`. A token is optional.',
  access: 'public',
  request: { body: ForgetWaitlistRequest },
  bodyExamples: { plain: () => ({ email: 'ana@example.org' }) },
  responses: { 202: ForgetWaitlistAccepted },
  responseDocs: {
    202: {
      description: 'Accepted. If the address is on the waitlist, the person gets an e-mail.',
      example: () => ({ status: 'accepted' }),
    },
  },
})

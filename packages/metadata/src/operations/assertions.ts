import { RenewedAssertion } from '@plainpath/domain'
import { JWT_BEARER_GRANT } from '../authorization-server.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { CLIENT_AUTHENTICATION } from './agents.ts'
import { defineOperation } from './operation.ts'

/** What a client is answered with each assertion. */
export const assertionExample = (urls: ServiceUrls) => ({
  identity_type: 'verified_email',
  identity_assertion: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImlkZW50aXR5LWFzc2VydGlvbitqd3QifQ.e30.c2lnbmF0dXJl',
  expires: '2026-11-21T14:04:00.000Z',
  claim_expires_at: '2026-12-20T14:04:00.000Z',
  grant_types: ['client_credentials', JWT_BEARER_GRANT],
  scopes: ['guides:read', 'waitlist:write', 'contact:write'],
  scope: 'guides:read waitlist:write contact:write',
  token_endpoint: urls.token,
})

export const createAssertion = defineOperation({
  method: 'post',
  path: '/api/agent/assertion',
  operationId: 'createAssertion',
  tag: 'Agents',
  summary: 'Get another identity assertion while the claim stands',
  description:
    `${CLIENT_AUTHENTICATION} The assertion says that the person behind this client controls a mailbox; it holds no ` +
    'address, lasts up to 24 hours, and only this client can exchange it. Without a claim: 409 `no-claim`.',
  access: 'client',
  errors: 'agent',
  responses: { 200: RenewedAssertion },
  outcomes: {
    200: {
      description: 'An identity assertion.',
      example: (urls) => ({ registration_id: 'clm_3q2-7wEhtsm0aKX9dPz1Vg', ...assertionExample(urls) }),
    },
  },
})

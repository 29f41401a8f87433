import { AgentDescription, RegisterAgentRequest, RegisteredAgent } from '@plainpath/domain'
import type { ServiceUrls } from '../service-urls.ts'
import { defineOperation } from './operation.ts'

const example = (urls: ServiceUrls) => ({
  client_id: 'agt_3q2-7wEhtsm0aKX9dPz1Vg',
  client_name: 'Example Agent',
  identity_type: 'anonymous',
  grant_types: ['client_credentials'],
  scopes: ['guides:read', 'waitlist:write'],
  scope: 'guides:read waitlist:write',
  client_id_issued_at: 1_795_183_200,
  client_secret_expires_at: 0,
  token_endpoint: urls.token,
  token_endpoint_auth_method: 'client_secret_basic',
  resource: urls.base,
})

export const registerAgent = defineOperation({
  method: 'post',
  path: '/api/agent/register',
  operationId: 'registerAgent',
  tag: 'Agents',
  summary: 'Register an AI agent client for client_credentials access',
  description:
    'No prior credential is needed. Register once for each person served and keep the answer: the secret is shown ' +
    'once. If the answer is lost, register again. The service chooses id, secret, scopes and grants.',
  access: 'open',
  errors: 'agent',
  request: { body: RegisterAgentRequest },
  bodyOptional: true,
  bodyExamples: {
    named: () => ({ client_name: 'Example Agent' }),
    nameless: () => ({}),
  },
  responses: { 201: RegisteredAgent },
  outcomes: {
    201: {
      description: 'The agent is registered.',
      example: (urls) => ({
        ...example(urls),
        client_secret: 'pps_nYw0x2C8mFh5Rk7Tq1Vb4Zd6Gj9Lp3Ss8Uu0Ww2Yy4A',
      }),
    },
  },
})

export const getAgent = defineOperation({
  method: 'get',
  path: '/api/agent',
  operationId: 'getAgent',
  tag: 'Agents',
  summary: 'What is known of the client that asks: identity, scopes and limits',
  description: 'Authenticate with `client_id` and `client_secret` by HTTP Basic.',
  access: 'client',
  errors: 'agent',
  responses: { 200: AgentDescription },
  outcomes: {
    200: {
      description: 'The client, without its secret.',
      example: (urls) => ({
        ...example(urls),
        limits: [{ policy: 'token-client', quota: 120, window_seconds: 60 }],
      }),
    },
  },
})

export const deleteAgent = defineOperation({
  method: 'delete',
  path: '/api/agent',
  operationId: 'deleteAgent',
  tag: 'Agents',
  summary: 'End the client and all its tokens at once, and erase its name',
  description:
    'Authenticate with `client_id` and `client_secret` by HTTP Basic. No request that begins after the answer ' +
    'succeeds with a token of this client.',
  access: 'client',
  errors: 'agent',
  responses: { 204: null },
  outcomes: { 204: { description: 'The client and its tokens have ended.' } },
})

import { durationIn, durationInWords, RULES } from '@plainpath/domain'
import { z } from 'zod'
import { GRANT_TYPES, JWT_BEARER_GRANT } from '../oauth-metadata.ts'
import { defineOperation, EXAMPLE_USE_MS, exampleTime } from './operation.ts'

const FORM = 'application/x-www-form-urlencoded'
const CLIENT_AUTHENTICATION =
  'Authenticate by HTTP Basic (`client_secret_basic`), or send `client_id` and `client_secret` as form fields ' +
  '(`client_secret_post`), or, as an agent with keys, `client_assertion` and `client_assertion_type` ' +
  '(`private_key_jwt`). Not two of them.'

const CONFIRMED =
  ' A token for what reaches a person (`contact:write`) comes only with the jwt-bearer grant: send the ' +
  '`identity_assertion` that you were given when a person confirmed you.'

/** RFC 7523 §2.2. */
export const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const ClientFields = {
  client_id: z.string().optional().meta({ description: 'With `client_secret`, instead of HTTP Basic.' }),
  client_secret: z.string().optional(),
  client_assertion: z
    .string()
    .optional()
    .meta({
      description: `A JWT signed with a key of the client (RFC 7523), used once, at most ${durationInWords('minute', RULES.clientAssertionMs)} old.`,
    }),
  client_assertion_type: z
    .literal(CLIENT_ASSERTION_TYPE)
    .optional()
    .meta({ description: 'Goes with `client_assertion`.' }),
}

const CLIENT_CREDENTIALS = {
  type: 'object' as const,
  title: 'ClientCredentialsGrant',
  description: 'For the agent itself (RFC 6749, section 4.4).',
  properties: { grant_type: { type: 'string' as const, const: 'client_credentials' } },
  required: ['grant_type'],
}

const JWT_BEARER = {
  type: 'object' as const,
  title: 'JwtBearerGrant',
  description: 'For an agent that a person confirmed (RFC 7523, section 2.1).',
  properties: {
    grant_type: { type: 'string' as const, const: JWT_BEARER_GRANT },
    assertion: { type: 'string' as const },
  },
  required: ['grant_type', 'assertion'],
}

/** Of the schema, not the body: no agent can send the second as it is, and the examples of a body are what can be sent. */
const EXAMPLES = [
  { grant_type: 'client_credentials' },
  {
    grant_type: JWT_BEARER_GRANT,
    assertion: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImlkZW50aXR5LWFzc2VydGlvbitqd3QifQ.e30.c2lnbmF0dXJl',
    scope: 'guides:read waitlist:write contact:write',
  },
]

/** All fields of the form by name, as whatever draws a form wants them; `oneOf` says which go together. */
export const TokenRequest = z
  .object({
    grant_type: z.enum(GRANT_TYPES).meta({
      description: `\`client_credentials\`, or with an \`assertion\` \`${JWT_BEARER_GRANT}\`.`,
    }),
    assertion: z.string().optional().meta({
      description: 'The `identity_assertion` of a claim. Required by the jwt-bearer grant, else ignored.',
    }),
    scope: z.string().optional().meta({
      description: 'Scopes separated by spaces. Absent: all that the grant gives. Too much is narrowed.',
    }),
    resource: z.string().optional().meta({
      description: 'Absent, or exactly the API root (RFC 8707).',
    }),
    ...ClientFields,
  })
  .meta({ oneOf: [CLIENT_CREDENTIALS, JWT_BEARER], examples: EXAMPLES })

export const TokenResponse = z.object({
  access_token: z
    .string()
    .regex(/^ppt_[A-Za-z0-9_-]{43}$/)
    .meta({ description: 'Opaque. Send it as `Authorization: Bearer`.' }),
  token_type: z.literal('Bearer'),
  expires_in: z.int().min(1).meta({ description: 'Seconds.' }),
  scope: z.string().meta({ description: 'What the token may be used for; always told.' }),
  client_expires_at: z.iso.datetime().meta({
    description:
      'When the client, not the token, ends unless it gets another token before. Register again after that.',
  }),
})

export const createToken = defineOperation({
  method: 'post',
  path: '/oauth/token',
  operationId: 'createToken',
  tag: 'OAuth',
  summary: 'Get an access token (RFC 6749)',
  description: `${CLIENT_AUTHENTICATION}${CONFIRMED}`,
  access: 'client',
  request: { body: TokenRequest },
  bodyType: FORM,
  bodyExamples: {
    everything: () => ({ grant_type: 'client_credentials' }),
    narrowed: (urls) => ({ grant_type: 'client_credentials', scope: 'guides:read', resource: urls.base }),
  },
  responses: { 200: TokenResponse },
  outcomes: {
    200: {
      description: `A token. It lasts ${durationIn('hour', RULES.tokenMs)} at most.`,
      example: () => ({
        access_token: 'ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df',
        token_type: 'Bearer',
        expires_in: RULES.tokenMs / 1000,
        scope: 'guides:read waitlist:write',
        client_expires_at: exampleTime(EXAMPLE_USE_MS + RULES.useRecordedMs + RULES.idleMs),
      }),
    },
  },
})

export const RevokeRequest = z.object({
  token: z.string().meta({ description: 'The access token to end.' }),
  token_type_hint: z.string().optional(),
  ...ClientFields,
})

const RevokeResponse = z.strictObject({}).meta({ description: 'Empty (RFC 7009, section 2.2).' })

export const revokeToken = defineOperation({
  method: 'post',
  path: '/oauth/revoke',
  operationId: 'revokeToken',
  tag: 'OAuth',
  summary: 'End an access token at once (RFC 7009)',
  description:
    `${CLIENT_AUTHENTICATION} A client ends its own tokens only. Once this is answered 200, no request that ` +
    'begins later succeeds with the token.',
  access: 'client',
  request: { body: RevokeRequest },
  bodyType: FORM,
  bodyExamples: { token: () => ({ token: 'ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df' }) },
  responses: { 200: RevokeResponse },
  outcomes: { 200: { description: 'The token is revoked, or was not valid before.', example: () => ({}) } },
})

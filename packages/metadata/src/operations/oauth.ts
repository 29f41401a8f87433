import { durationIn, durationInWords, RULES, Scope } from '@plainpath/domain'
import { z } from 'zod'
import { AGENT_GRANT_TYPES, JWT_BEARER_GRANT_TYPE } from '../oauth-metadata.ts'
import { defineOperation, EXAMPLE_ASSERTION, EXAMPLE_FIRST_USE_MS, formatExampleTime } from './operation.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'
/** The `client_assertion_type` of a JWT (RFC 7523 §2.2). */
export const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const ClientFields = {
  client_id: z.string().optional().meta({ description: 'With `client_secret`, instead of HTTP Basic.' }),
  client_secret: z.string().optional(),
  client_assertion: z
    .string()
    .optional()
    .meta({
      description: `A JWT signed with a key of the client (RFC 7523), used once, valid for ${durationInWords('minute', RULES.clientAssertionMs)} at most.`,
    }),
  client_assertion_type: z
    .literal(CLIENT_ASSERTION_TYPE)
    .optional()
    .meta({ description: 'Required with `client_assertion`.' }),
}

const CLIENT_CREDENTIALS = {
  title: 'ClientCredentialsGrant',
  properties: { grant_type: { const: 'client_credentials' } },
  required: ['grant_type'],
}

const JWT_BEARER = {
  title: 'JwtBearerGrant',
  properties: { grant_type: { const: JWT_BEARER_GRANT_TYPE } },
  required: ['grant_type', 'assertion'],
}

/** Examples for the schema. They are not body examples, because the second one cannot be sent unchanged. */
const SCHEMA_EXAMPLES = [
  { grant_type: 'client_credentials' },
  {
    grant_type: JWT_BEARER_GRANT_TYPE,
    assertion: EXAMPLE_ASSERTION,
    scope: Scope.options.join(' '),
  },
]

/**
 * The form that the token endpoint accepts from agents. All fields are in one object, for tools that display a form. `oneOf`
 * groups the fields that belong together.
 */
export const TokenRequest = z
  .object({
    grant_type: z.enum(AGENT_GRANT_TYPES).meta({
      description: 'jwt-bearer (RFC 7523) is for an agent that a person confirmed.',
    }),
    assertion: z.string().optional().meta({
      description: 'The `identity_assertion` of an e-mail verification, for jwt-bearer only.',
    }),
    scope: z.string().optional().meta({
      description: 'Scopes separated by spaces; by default all of the grant. Others are left out.',
    }),
    resource: z.string().optional().meta({
      description: 'Absent, or the API root or the MCP server (RFC 8707), which name the same API.',
    }),
    ...ClientFields,
  })
  .meta({ oneOf: [CLIENT_CREDENTIALS, JWT_BEARER], examples: SCHEMA_EXAMPLES })

export const TokenResponse = z.object({
  access_token: z
    .string()
    .regex(/^ppt_[A-Za-z0-9_-]{43}$/)
    .meta({ description: 'Opaque. Send it as `Authorization: Bearer`, or as `DPoP` with a proof.' }),
  token_type: z.enum(['Bearer', 'DPoP']).meta({
    description: '`DPoP` if the request had a proof (RFC 9449): the token is bound to the key of the proof.',
  }),
  expires_in: z.int().min(1).meta({ description: 'In seconds.' }),
  scope: z.string().meta({ description: 'The scopes of the token.' }),
  client_expires_at: z.iso.datetime().meta({
    description: 'When the registration (not the token) expires unless the client gets another token first.',
  }),
})

export const createToken = defineOperation({
  method: 'post',
  path: '/oauth/token',
  operationId: 'createToken',
  tag: 'OAuth',
  summary: 'Get an access token (RFC 6749)',
  description:
    'Authenticate in one way: HTTP Basic (`client_secret_basic`), `client_id` and `client_secret` in the form ' +
    '(`client_secret_post`), or, with keys, `client_assertion` and `client_assertion_type` in the form ' +
    '(`private_key_jwt`). Only the jwt-bearer grant gives `contact:write`.',
  access: 'client',
  request: { body: TokenRequest },
  bodyMediaType: FORM_TYPE,
  bodyExamples: {
    everything: () => ({ grant_type: 'client_credentials' }),
    narrowed: (urls) => ({ grant_type: 'client_credentials', scope: 'guides:read', resource: urls.base }),
  },
  responses: { 200: TokenResponse },
  responseDocs: {
    200: {
      description: `A token. It expires after ${durationIn('hour', RULES.tokenMs)} at most.`,
      example: () => ({
        access_token: 'ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df',
        token_type: 'Bearer',
        expires_in: RULES.tokenMs / 1000,
        scope: 'guides:read waitlist:write',
        client_expires_at: formatExampleTime(EXAMPLE_FIRST_USE_MS + RULES.useRecordedMs + RULES.idleMs),
      }),
    },
  },
})

export const RevokeRequest = z.object({
  token: z.string().meta({ description: 'The access token.' }),
  token_type_hint: z.string().optional(),
  ...ClientFields,
})

const RevokeResponse = z.strictObject({}).meta({ description: 'Empty (RFC 7009, section 2.2).' })

export const revokeToken = defineOperation({
  method: 'post',
  path: '/oauth/revoke',
  operationId: 'revokeToken',
  tag: 'OAuth',
  summary: 'Revoke an access token (RFC 7009)',
  description:
    'Authenticate as at the token endpoint. A client can revoke only its own tokens. No request that begins after the ' +
    'response succeeds with the token.',
  access: 'client',
  request: { body: RevokeRequest },
  bodyMediaType: FORM_TYPE,
  bodyExamples: { token: () => ({ token: 'ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df' }) },
  responses: { 200: RevokeResponse },
  responseDocs: {
    200: { description: 'The token is revoked, or was not valid before.', example: () => ({}) },
  },
})

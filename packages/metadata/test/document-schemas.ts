/*
 * JSON Schemas (2020-12) of the formats of served documents. They were written from the specifications, not from our code, and
 * also require some optional members that we always serve.
 */

const uri = { type: 'string', format: 'uri' }
const uris = { type: 'array', items: uri, minItems: 1 }
const strings = { type: 'array', items: { type: 'string' }, minItems: 1 }

/** RFC 9264 §4.2: `linkset` is the only member, and every relation is an array of targets. */
export const LINKSET = {
  type: 'object',
  required: ['linkset'],
  additionalProperties: false,
  properties: {
    linkset: {
      type: 'array',
      items: {
        type: 'object',
        properties: { anchor: uri },
        additionalProperties: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            required: ['href'],
            properties: {
              href: uri,
              type: { type: 'string' },
              title: { type: 'string' },
              hreflang: strings,
            },
            additionalProperties: { type: 'array' },
          },
        },
      },
    },
  },
}

/** Agent Skills discovery 0.2.0. */
export const SKILLS_INDEX = {
  type: 'object',
  required: ['$schema', 'skills'],
  properties: {
    $schema: { const: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json' },
    skills: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'type', 'description', 'url', 'digest'],
        properties: {
          name: { type: 'string', maxLength: 64, pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' },
          type: { enum: ['skill-md', 'archive'] },
          description: { type: 'string', minLength: 1, maxLength: 1024 },
          url: { type: 'string', format: 'uri-reference' },
          digest: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
        },
      },
    },
  },
}

/** AI Catalog 1.0 in the stricter form of ARD 0.9: no other top-level members, and `displayName` and `urn:air:` are required. */
export const AI_CATALOG = {
  type: 'object',
  required: ['specVersion', 'entries'],
  additionalProperties: false,
  properties: {
    specVersion: { const: '1.0' },
    host: {
      type: 'object',
      required: ['displayName'],
      additionalProperties: false,
      properties: {
        displayName: { type: 'string' },
        identifier: { type: 'string' },
        documentationUrl: uri,
        logoUrl: uri,
      },
    },
    entries: {
      type: 'array',
      items: {
        type: 'object',
        required: ['identifier', 'displayName', 'type'],
        oneOf: [{ required: ['url'] }, { required: ['data'] }],
        properties: {
          identifier: { type: 'string', pattern: '^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$' },
          displayName: { type: 'string' },
          type: { type: 'string' },
          url: uri,
          description: { type: 'string' },
          representativeQueries: { ...strings, minItems: 2, maxItems: 5 },
        },
      },
    },
  },
}

/** RFC 9728 §2. Members with empty lists must be left out, so each list has at least one item. */
export const PROTECTED_RESOURCE = {
  type: 'object',
  required: ['resource', 'authorization_servers', 'scopes_supported', 'bearer_methods_supported'],
  properties: {
    // RFC 9728 §1.2 allows no fragment. The missing slash at the end is our own rule.
    resource: { ...uri, pattern: '^[^#]*[^#/]$' },
    authorization_servers: uris,
    scopes_supported: strings,
    bearer_methods_supported: { type: 'array', items: { enum: ['header', 'body', 'query'] }, minItems: 1 },
    resource_name: { type: 'string' },
    resource_documentation: uri,
    resource_policy_uri: uri,
    resource_tos_uri: uri,
  },
}

/** RFC 8414 §2, RFC 9728 §4. */
export const AUTHORIZATION_SERVER = {
  type: 'object',
  required: ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri', 'response_types_supported'],
  properties: {
    // RFC 8414 §2 allows neither a query nor a fragment. Our issuer has no path either.
    issuer: { ...uri, pattern: '^https?://[^/?#]+$' },
    authorization_endpoint: uri,
    token_endpoint: uri,
    jwks_uri: uri,
    revocation_endpoint: uri,
    scopes_supported: strings,
    response_types_supported: { type: 'array' },
    grant_types_supported: strings,
    token_endpoint_auth_methods_supported: strings,
    revocation_endpoint_auth_methods_supported: strings,
    protected_resources: uris,
    service_documentation: uri,
    op_policy_uri: uri,
    op_tos_uri: uri,
    agent_auth: { type: 'object' },
  },
}

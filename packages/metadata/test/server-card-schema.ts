const uri = { type: 'string', format: 'uri' }

const keyValueInput = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1 },
    description: { type: 'string' },
    isRequired: { type: 'boolean' },
    isSecret: { type: 'boolean' },
    value: { type: 'string' },
    variables: { type: 'object', additionalProperties: { type: 'object' } },
  },
}

const remote = {
  type: 'object',
  required: ['type', 'url'],
  properties: {
    type: { enum: ['streamable-http', 'sse'] },
    url: uri,
    headers: { type: 'array', items: keyValueInput },
    supportedProtocolVersions: {
      type: 'array',
      items: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
    },
  },
}

/** JSON Schema (2020-12) of a server card, version 1, written from the text of SEP-2127. Objects may have further members. */
export const SERVER_CARD = {
  type: 'object',
  required: ['$schema', 'name', 'version', 'description'],
  properties: {
    $schema: { const: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json' },
    name: {
      type: 'string',
      minLength: 3,
      maxLength: 200,
      pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$',
    },
    version: { type: 'string', maxLength: 255, pattern: '^\\d+\\.\\d+\\.\\d+$' },
    description: { type: 'string', minLength: 1, maxLength: 100 },
    title: { type: 'string', minLength: 1, maxLength: 100 },
    websiteUrl: uri,
    remotes: { type: 'array', minItems: 1, items: remote },
  },
}

import { AgentId } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import {
  type AppMetadata,
  parseAppDocument,
  parseRegistration,
  type RegistrationFault,
} from './app-metadata.ts'
import { DEFAULT_CHAT_HOSTS } from './chat-hosts.ts'

const parse = (body: unknown) => parseRegistration(body, DEFAULT_CHAT_HOSTS)
const APP_URL = AgentId.parse('https://apps.example/client.json')
const parseDocument = (members: object) =>
  parseAppDocument(
    { client_id: APP_URL, redirect_uris: ['http://127.0.0.1/callback'], ...members },
    APP_URL,
    DEFAULT_CHAT_HOSTS,
  )

/** The bodies with which chat hosts register, each with the name of the host and the members that the metadata must have. */
const REGISTRATIONS: readonly (readonly [string, object, Partial<AppMetadata>])[] = [
  [
    'Claude',
    {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp',
      application_type: 'web',
    },
    { name: 'Claude', redirectUris: ['https://claude.ai/api/mcp/auth_callback'], applicationType: 'web' },
  ],
  [
    'Claude Code',
    {
      client_name: 'Claude Code (plainpath)',
      redirect_uris: ['http://localhost:3118/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    { applicationType: 'native' },
  ],
  [
    'Cursor',
    {
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    { applicationType: 'native' },
  ],
  [
    'VS Code',
    {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    { applicationType: 'native' },
  ],
  [
    'ChatGPT',
    { client_name: 'ChatGPT', redirect_uris: ['https://chatgpt.com/connector/oauth/kDmjx77UnKOM'] },
    { applicationType: 'web' },
  ],
  [
    'Gemini',
    {
      client_name: 'Google',
      redirect_uris: ['https://oauth-redirect.googleusercontent.com/r/user-1'],
      token_endpoint_auth_method: 'client_secret_post',
    },
    { applicationType: 'web' },
  ],
  [
    'Le Chat',
    {
      client_name: 'MistralAI',
      redirect_uris: ['https://callback.mistral.ai/v1/integrations_auth/oauth2_callback'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    { applicationType: 'web' },
  ],
  [
    'MCP Inspector',
    {
      client_name: 'MCP Inspector',
      redirect_uris: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      client_uri: 'https://github.com/modelcontextprotocol/inspector',
    },
    { applicationType: 'native' },
  ],
]

describe('a registration', () => {
  test.for(REGISTRATIONS)(
    'of %s becomes a public client with all its redirect URIs',
    ([_host, body, expected]) => {
      const { redirect_uris } = body as { redirect_uris: string[] }
      const parsed = parse(body)
      expect(parsed).toMatchObject({
        ok: true,
        value: { redirectUris: redirect_uris, authMethod: 'none', keys: [], ...expected },
      })
      expect(parsed.ok && Object.keys(parsed.value)).not.toContain('scope')
    },
  )

  const uris = ['http://127.0.0.1/callback']
  test.for<[string, unknown, RegistrationFault['code'], string]>([
    ['no body', undefined, 'invalid-client-metadata', '#'],
    ['a list', [], 'invalid-client-metadata', '#'],
    [
      'no redirect URI, like the registration of an agent',
      { client_name: 'Atlas' },
      'invalid-redirect-uri',
      '#/redirect_uris',
    ],
    ['an empty list of redirect URIs', { redirect_uris: [] }, 'invalid-redirect-uri', '#/redirect_uris'],
    ['a redirect URI outside a list', { redirect_uris: uris[0] }, 'invalid-redirect-uri', '#/redirect_uris'],
    ['a number as redirect URI', { redirect_uris: [1] }, 'invalid-redirect-uri', '#/redirect_uris'],
    [
      'eleven redirect URIs',
      { redirect_uris: Array.from({ length: 11 }, (_, n) => `${uris[0]}/${n}`) },
      'invalid-redirect-uri',
      '#/redirect_uris',
    ],
    [
      'a redirect URI that is not listed',
      { redirect_uris: ['https://evil.example/cb'] },
      'invalid-redirect-uri',
      '#/redirect_uris/0',
    ],
    [
      'one listed redirect URI and one that is not listed',
      { redirect_uris: [...uris, 'https://evil.example/cb'] },
      'invalid-redirect-uri',
      '#/redirect_uris/1',
    ],
    [
      'only another grant type',
      { redirect_uris: uris, grant_types: ['client_credentials'] },
      'invalid-client-metadata',
      '#/grant_types',
    ],
    [
      'the implicit response type',
      { redirect_uris: uris, response_types: ['token'] },
      'invalid-client-metadata',
      '#/response_types',
    ],
    [
      'private_key_jwt',
      { redirect_uris: uris, token_endpoint_auth_method: 'private_key_jwt' },
      'invalid-client-metadata',
      '#/token_endpoint_auth_method',
    ],
    [
      'a name that is not a string',
      { redirect_uris: uris, client_name: 1 },
      'invalid-client-metadata',
      '#/client_name',
    ],
    [
      'a long name',
      { redirect_uris: uris, client_name: 'x'.repeat(201) },
      'invalid-client-metadata',
      '#/client_name',
    ],
    [
      'a name with a right-to-left override',
      { redirect_uris: uris, client_name: 'Claude\u202e' },
      'invalid-client-metadata',
      '#/client_name',
    ],
    [
      'a name with a line break',
      { redirect_uris: uris, client_name: 'a\nb' },
      'invalid-client-metadata',
      '#/client_name',
    ],
  ])('is refused with %s', ([_case, body, code, pointer]) => {
    const refusal = parse(body)
    expect(refusal).toEqual({ ok: false, error: { code, pointer, detail: expect.any(String) } })
    expect(parse({ redirect_uris: uris })).toMatchObject({ ok: true })
  })

  test('that is refused gets an explanation of where agents register and how to list a site, without the URI', () => {
    expect(parse({})).toMatchObject({ error: { detail: expect.stringContaining('/api/agent/register') } })
    const refusal = parse({ redirect_uris: ['https://canary.example/cb'] })
    expect(refusal).toMatchObject({
      error: { detail: expect.stringMatching(/127\.0\.0\.1.*ask the operator/) },
    })
    expect(JSON.stringify(refusal)).not.toContain('canary')
  })

  test.for([undefined, null, '', '   '])('has no name if its client_name is %j', (client_name) => {
    const parsed = parse({ redirect_uris: uris, client_name })
    expect(parsed).toMatchObject({ ok: true })
    expect(parsed).not.toHaveProperty('value.name')
  })

  test('keeps only one copy of a repeated redirect URI', () => {
    expect(parse({ redirect_uris: [...uris, ...uris] })).toMatchObject({ value: { redirectUris: uris } })
  })
})

describe('a document', () => {
  test.for(
    DEFAULT_CHAT_HOSTS.flatMap(({ label, documents }) =>
      documents.map(({ metadata }) => [label, metadata.client_id, metadata] as const),
    ),
  )('of %s (%s) is a public client with all its redirect URIs', ([_label, id, metadata]) => {
    const parsed = parseAppDocument(metadata, AgentId.parse(id), DEFAULT_CHAT_HOSTS)
    expect(parsed).toMatchObject({ ok: true, value: { redirectUris: metadata['redirect_uris'] } })
    expect(parsed).not.toHaveProperty('value.keySet')
  })

  test('of Claude Code counts as native, although it does not say so', () => {
    const redirect_uris = ['http://localhost/callback', 'http://127.0.0.1/callback']
    expect(parseDocument({ redirect_uris })).toMatchObject({ value: { applicationType: 'native' } })
  })

  test('that also names the device grant, as VS Code does, is accepted', () => {
    const grant_types = [
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ]
    expect(parseDocument({ grant_types })).toMatchObject({ ok: true })
  })

  test('that prefers private_key_jwt but also supports none belongs to a public client', () => {
    const keyMembers = {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: 'https://apps.example/jwks.json',
    }
    const token_endpoint_auth_methods_supported = ['none', 'private_key_jwt']
    const parsed = parseDocument({ ...keyMembers, token_endpoint_auth_methods_supported })
    expect(parsed).toMatchObject({ ok: true })
    expect(parsed).not.toHaveProperty('value.keySet')
    expect(parseDocument(keyMembers)).toMatchObject({
      value: { keySet: { uri: new URL(keyMembers.jwks_uri) } },
    })
  })

  test('is accepted with its acceptable redirect URIs only', () => {
    const redirect_uris = [
      'https://evil.example/cb',
      'http://127.0.0.1/callback',
      'claude://claude.ai/mcp-auth-callback/sdk',
    ]
    expect(parseDocument({ redirect_uris })).toMatchObject({
      value: { redirectUris: ['http://127.0.0.1/callback'] },
    })
  })

  test.for([
    ['a name with a right-to-left override', 'Claude\u202e'],
    ['a long name', 'x'.repeat(201)],
    ['a name that is not a string', 7],
  ])('is accepted without %s', ([_case, client_name]) => {
    const parsed = parseDocument({ client_name })
    expect(parsed.ok && Object.keys(parsed.value)).toEqual(['redirectUris', 'applicationType'])
  })

  test.for<[string, object, string]>([
    ['another client_id', { client_id: 'https://apps.example/other.json' }, 'other-client'],
    ['no client_id', { client_id: undefined }, 'other-client'],
    ['a secret', { client_secret: 'canary' }, 'client_secret'],
    ['no redirect URI', { redirect_uris: undefined }, 'redirect_uris'],
    ['no acceptable redirect URI', { redirect_uris: ['https://evil.example/cb'] }, 'redirect_uris'],
    ['only the grant type of agents', { grant_types: ['client_credentials'] }, 'grant_types'],
    ['the implicit response type', { response_types: ['token'] }, 'response_types'],
    ['a shared secret', { token_endpoint_auth_method: 'client_secret_basic' }, 'token_endpoint_auth_method'],
    [
      'keys of another origin',
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://evil.example/jwks.json' },
      'jwks_uri',
    ],
  ])('is refused with %s', ([_case, members, fault]) => {
    const refusal = parseDocument(members)
    expect(refusal).toMatchObject({
      ok: false,
      error: fault === 'other-client' ? { kind: fault } : { kind: 'member', member: fault },
    })
    expect(JSON.stringify(refusal)).not.toContain('canary')
  })
})

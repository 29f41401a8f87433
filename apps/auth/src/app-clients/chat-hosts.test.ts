import { describe, expect, test } from 'vitest'
import {
  DEFAULT_CHAT_HOSTS,
  findClientLabel,
  listRedirectLabels,
  parseChatHosts,
  validateRedirectUri,
} from './chat-hosts.ts'

const validate = (uri: string) => validateRedirectUri(uri, DEFAULT_CHAT_HOSTS)

describe('a redirect URI that a host uses', () => {
  // Each row is the URI, and the `label`, `host` and `kind` of the target to which it leads.
  test.for([
    ['https://claude.ai/api/mcp/auth_callback', 'claude', 'claude.ai', 'web'],
    ['https://claude.com/api/mcp/auth_callback', 'claude', 'claude.com', 'web'],
    ['https://chatgpt.com/connector_platform_oauth_redirect', 'chatgpt', 'chatgpt.com', 'web'],
    ['https://chatgpt.com/connector/oauth/kDmjx77UnKOM', 'chatgpt', 'chatgpt.com', 'web'],
    ['https://grok.com/connectors-oauth-exchange-code/', 'grok', 'grok.com', 'web'],
    ['https://console.x.ai/connectors-oauth-exchange-code/', 'grok', 'console.x.ai', 'web'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor', 'cursor://anysphere.cursor-mcp', 'program'],
    ['https://www.cursor.com/agents/mcp/oauth/callback', 'cursor', 'www.cursor.com', 'web'],
    ['https://vscode.dev/redirect', 'vscode', 'vscode.dev', 'web'],
    ['https://insiders.vscode.dev/redirect', 'vscode', 'insiders.vscode.dev', 'web'],
    [
      'https://vertexaisearch.cloud.google.com/oauth-redirect',
      'gemini',
      'vertexaisearch.cloud.google.com',
      'web',
    ],
    [
      'https://oauth-redirect.googleusercontent.com/r/user-1_a.b',
      'gemini',
      'oauth-redirect.googleusercontent.com',
      'web',
    ],
    [
      'https://callback.mistral.ai/v1/integrations_auth/oauth2_callback',
      'le-chat',
      'callback.mistral.ai',
      'web',
    ],
    ['http://localhost/callback', 'loopback', 'localhost', 'loopback'],
    ['http://127.0.0.1/callback', 'loopback', '127.0.0.1', 'loopback'],
    ['http://localhost:3118/callback', 'loopback', 'localhost', 'loopback'],
    ['http://localhost:52163/callback', 'loopback', 'localhost', 'loopback'],
    ['http://localhost:8787/callback', 'loopback', 'localhost', 'loopback'],
    ['http://127.0.0.1/', 'loopback', '127.0.0.1', 'loopback'],
    ['http://127.0.0.1:33418/', 'loopback', '127.0.0.1', 'loopback'],
    ['http://127.0.0.1:33418', 'loopback', '127.0.0.1', 'loopback'],
    ['http://[::1]:7777/oauth/callback', 'loopback', '[::1]', 'loopback'],
    ['http://localhost:6274/oauth/callback', 'loopback', 'localhost', 'loopback'],
    ['http://localhost:6274/oauth/callback/debug', 'loopback', 'localhost', 'loopback'],
    ['http://127.0.0.1:65535/oauth/callback', 'loopback', '127.0.0.1', 'loopback'],
  ])('is accepted: %s', ([uri, label, host, kind]) => {
    expect(validate(uri as string)).toEqual({ ok: true, value: { label, host, kind } })
  })
})

describe('any other redirect URI', () => {
  test.for([
    ['another host', 'https://claude.ai.evil.example/api/mcp/auth_callback'],
    ['a host with a suffix', 'https://claude.aix/api/mcp/auth_callback'],
    ['a host with a prefix', 'https://notclaude.ai/api/mcp/auth_callback'],
    ['a subdomain', 'https://www.claude.ai/api/mcp/auth_callback'],
    ['a missing subdomain', 'https://cursor.com/agents/mcp/oauth/callback'],
    ['another letter instead of a dot', 'https://wwwxcursor.com/agents/mcp/oauth/callback'],
    ['a letter of another script', 'https://cl\u0430ude.ai/api/mcp/auth_callback'],
    ['the same letter in Punycode', 'https://xn--clude-5ve.ai/api/mcp/auth_callback'],
    ['a host in capitals', 'https://CLAUDE.ai/api/mcp/auth_callback'],
    ['a scheme in capitals', 'HTTPS://claude.ai/api/mcp/auth_callback'],
    ['a path in another case', 'https://claude.ai/api/mcp/AUTH_callback'],
    ['the port of https', 'https://claude.ai:443/api/mcp/auth_callback'],
    ['another port', 'https://claude.ai:8443/api/mcp/auth_callback'],
    ['http', 'http://claude.ai/api/mcp/auth_callback'],
    ['another scheme', 'claude://claude.ai/mcp-auth-callback/sdk'],
    ['the host as a user name', 'https://claude.ai@evil.example/api/mcp/auth_callback'],
    ['a user name before the host', 'https://x@claude.ai/api/mcp/auth_callback'],
    ['a backslash', 'https://evil.example\\@claude.ai/api/mcp/auth_callback'],
    ['a final dot', 'https://claude.ai./api/mcp/auth_callback'],
    ['a final slash', 'https://claude.ai/api/mcp/auth_callback/'],
    ['a missing final slash', 'https://grok.com/connectors-oauth-exchange-code'],
    ['a longer path', 'https://claude.ai/api/mcp/auth_callback/x'],
    ['a dot segment', 'https://claude.ai/api/mcp/x/../auth_callback'],
    ['an encoded path', 'https://claude.ai/api/mcp/auth%5Fcallback'],
    ['a query', 'https://claude.ai/api/mcp/auth_callback?next=https://evil.example'],
    ['a fragment', 'https://claude.ai/api/mcp/auth_callback#x'],
    ['a leading space', ' https://claude.ai/api/mcp/auth_callback'],
    ['a line break', 'https://claude.ai/api/mcp/auth_callback\n'],
    ['the site alone', 'https://claude.ai/'],
    ['the prefix alone', 'https://chatgpt.com/connector/oauth/'],
    ['two segments after a prefix', 'https://chatgpt.com/connector/oauth/x/y'],
    ['a dot segment after a prefix', 'https://chatgpt.com/connector/oauth/..'],
    ['an encoded dot segment after a prefix', 'https://chatgpt.com/connector/oauth/%2e%2e'],
    ['a query after a prefix', 'https://chatgpt.com/connector/oauth/x?y'],
    ['a fragment after a prefix', 'https://oauth-redirect.googleusercontent.com/r/x#y'],
    ['a backslash after a prefix', 'https://oauth-redirect.googleusercontent.com/r/x\\y'],
    ['a long segment after a prefix', `https://chatgpt.com/connector/oauth/${'x'.repeat(201)}`],
    ['the scheme of a listed program, but another host', 'cursor://evil/oauth/callback'],
    ['the scheme of another program', 'vscode://vscode.github-authentication/did-authenticate'],
    ['a script URL', 'javascript:alert(1)//http://localhost/callback'],
    ['a data URL', 'data:text/html,http://localhost/callback'],
    ['https on loopback', 'https://localhost/callback'],
    ['loopback in capitals', 'http://LOCALHOST/callback'],
    ['loopback with a final dot', 'http://localhost./callback'],
    ['loopback as a subdomain', 'http://localhost.evil.example/callback'],
    ['loopback as a user name', 'http://localhost@evil.example/callback'],
    ['loopback as a user name with a password', 'http://localhost:1@evil.example/callback'],
    ['a user name before loopback', 'http://x@localhost/callback'],
    ['another loopback address', 'http://127.0.0.2/callback'],
    ['a short address', 'http://127.1/callback'],
    ['a decimal address', 'http://2130706433/callback'],
    ['an address with a domain suffix', 'http://127.0.0.1.evil.example/callback'],
    ['loopback as an IPv4-mapped address', 'http://[::ffff:127.0.0.1]/callback'],
    ['loopback in uncompressed IPv6', 'http://[0:0:0:0:0:0:0:1]/callback'],
    ['the unspecified address', 'http://0.0.0.0:8787/callback'],
    ['port 0', 'http://127.0.0.1:0/callback'],
    ['a port above 65535', 'http://127.0.0.1:65536/callback'],
    ['a port with a zero', 'http://127.0.0.1:080/callback'],
    ['an empty port', 'http://127.0.0.1:/callback'],
    ['a query on loopback', 'http://127.0.0.1/callback?next=https://evil.example'],
    ['a fragment on loopback', 'http://127.0.0.1/callback#x'],
    ['a backslash on loopback', 'http://127.0.0.1\\@evil.example/callback'],
    ['a dot segment on loopback', 'http://127.0.0.1/x/../callback'],
    ['an encoded path on loopback', 'http://127.0.0.1/%63allback'],
    ['a long path on loopback', `http://127.0.0.1/${'x'.repeat(255)}`],
    ['an empty string', ''],
    ['a relative reference', 'callback'],
  ])('is refused: %s', ([_case, uri]) => {
    expect(validate(uri as string)).toEqual({ ok: false, error: 'not-listed' })
  })
})

test.for([
  [['http://localhost:8787/callback', 'cursor://anysphere.cursor-mcp/oauth/callback'], 'cursor'],
  [['http://127.0.0.1/', 'https://vscode.dev/redirect'], 'vscode'],
  [['http://127.0.0.1/'], 'loopback'],
] as const)('findClientLabel maps %j to %s', ([uris, label]) => {
  expect(findClientLabel(uris, DEFAULT_CHAT_HOSTS)).toBe(label)
  expect(listRedirectLabels(DEFAULT_CHAT_HOSTS)).toContain(label)
})

describe('the file of hosts', () => {
  const host = {
    label: 'example',
    name: 'Example',
    redirectUris: ['https://chat.example/callback'],
    redirectUriPrefixes: ['https://chat.example/oauth/'],
    source: 'https://chat.example/docs',
    checked: '2026-11-23',
    documents: [{ copied: '2026-11-23', metadata: { client_id: 'https://chat.example/client.json' } }],
  }
  const parse = (...hosts: object[]) => parseChatHosts(JSON.stringify({ hosts }))

  test('decides which redirect URIs are accepted', () => {
    const hosts = parse(host)
    expect(validateRedirectUri('https://chat.example/oauth/x', hosts)).toMatchObject({ ok: true })
    expect(validateRedirectUri('https://claude.ai/api/mcp/auth_callback', hosts)).toMatchObject({ ok: false })
    expect(parse()).toEqual([])
  })

  test.for([
    ['http', { redirectUris: ['http://chat.example/callback'] }],
    ['a script', { redirectUris: ['javascript:alert(1)'] }],
    ['capitals', { redirectUris: ['https://CHAT.example/callback'] }],
    ['a user', { redirectUris: ['https://x@chat.example/callback'] }],
    ['a fragment', { redirectUris: ['https://chat.example/callback#x'] }],
    ['a prefix without a slash', { redirectUriPrefixes: ['https://chat.example/oauth'] }],
    ['a whole site as prefix', { redirectUriPrefixes: ['https://chat.example/'] }],
    ['a scheme as prefix', { redirectUriPrefixes: ['cursor://x/y/'] }],
    ['a reserved label', { label: 'loopback' }],
    ['a label in capitals', { label: 'Example' }],
    ['an invalid date', { checked: 'yesterday' }],
    [
      'a client_id that is not a URL',
      { documents: [{ copied: '2026-11-23', metadata: { client_id: 'x' } }] },
    ],
    ['an unknown member', { canary: 1 }],
  ])('is refused with %s', ([_case, members]) => {
    expect(() => parse({ ...host, ...(members as object) })).toThrow(
      /^is not a list of chat hosts: \/hosts\/0/,
    )
  })

  test.for([
    ['a label', { ...host, redirectUris: [], redirectUriPrefixes: [], documents: [] }],
    ['a redirect URI', { ...host, label: 'other', redirectUriPrefixes: [], documents: [] }],
    ['a client_id', { ...host, label: 'other', redirectUris: [], redirectUriPrefixes: [] }],
  ])('is refused if it contains %s twice', ([_case, other]) => {
    expect(() => parse(host, other as object)).toThrow(/twice$/)
  })

  test('that is not JSON is refused, and not quoted', () => {
    expect(() => parseChatHosts('canary')).toThrow(/^is not JSON$/)
  })
})

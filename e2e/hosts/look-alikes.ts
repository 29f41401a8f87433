/**
 * A redirect URI that the service must refuse, although it resembles an accepted one, or although a program that is not on the
 * list of chat apps and IDEs (*hosts*, see `host-fixtures.ts`) could use it.
 */
export interface LookAlike {
  readonly description: string
  readonly redirectUri: string
  /** The accepted redirect URI that the tests use beside this one. Most entries imitate it. */
  readonly genuineUri: string
}

const CLAUDE_URI = 'https://claude.ai/api/mcp/auth_callback'
// ChatGPT and Gemini have one URI for each connector: a fixed prefix, and one segment that varies.
const CHATGPT_URI = 'https://chatgpt.com/connector/oauth/kDmjx77UnKOM'
const GEMINI_URI = 'https://oauth-redirect.googleusercontent.com/r/user-bound-4Tq1x_9-'
const CURSOR_URI = 'cursor://anysphere.cursor-mcp/oauth/callback'
const LOOPBACK_URI = 'http://localhost:8787/callback'

/** The service refuses each of these in a registration, in a document, and in an authorization request. */
export const LOOK_ALIKES: readonly LookAlike[] = [
  {
    description: 'the host name as a prefix of another',
    redirectUri: 'https://claude.ai.example/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'the host name as a suffix of another',
    redirectUri: 'https://notclaude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a subdomain',
    redirectUri: 'https://www.claude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'the host name as the userinfo of another',
    redirectUri: 'https://claude.ai@evil.example/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'userinfo before the host name',
    redirectUri: 'https://evil@claude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a backslash before the @, so that parsers disagree on the host name',
    redirectUri: 'https://evil.example\\@claude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a trailing dot in the host name',
    redirectUri: 'https://claude.ai./api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'another port',
    redirectUri: 'https://claude.ai:8443/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'the default port, stated explicitly',
    redirectUri: 'https://claude.ai:443/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'the scheme http',
    redirectUri: 'http://claude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'capitals in the host name',
    redirectUri: 'https://CLAUDE.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'capitals in the scheme',
    redirectUri: 'HTTPS://claude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'capitals in the path',
    redirectUri: 'https://claude.ai/api/MCP/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'another path',
    redirectUri: 'https://claude.ai/api/mcp/auth_callback2',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a trailing slash',
    redirectUri: 'https://claude.ai/api/mcp/auth_callback/',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a missing trailing slash',
    redirectUri: 'https://grok.com/connectors-oauth-exchange-code',
    genuineUri: 'https://grok.com/connectors-oauth-exchange-code/',
  },
  {
    description: 'dot segments in the path',
    redirectUri: 'https://claude.ai/x/../api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a percent-encoded character in the path',
    redirectUri: 'https://claude.ai/api/mcp/auth%5Fcallback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a query',
    redirectUri: 'https://claude.ai/api/mcp/auth_callback?next=https://evil.example',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a fragment',
    redirectUri: 'https://claude.ai/api/mcp/auth_callback#x',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a Cyrillic letter in the host name',
    redirectUri: 'https://cl\u0430ude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'a leading space',
    redirectUri: ' https://claude.ai/api/mcp/auth_callback',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'the root path instead of the callback path',
    redirectUri: 'https://claude.ai/',
    genuineUri: CLAUDE_URI,
  },
  {
    description: 'the prefix alone',
    redirectUri: 'https://chatgpt.com/connector/oauth/',
    genuineUri: CHATGPT_URI,
  },
  {
    description: 'two segments after the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauth/abc/evil',
    genuineUri: CHATGPT_URI,
  },
  {
    description: 'dot segments after the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauth/../../evil',
    genuineUri: CHATGPT_URI,
  },
  {
    description: 'an encoded dot segment and an encoded slash after the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauth/%2e%2e%2fevil',
    genuineUri: CHATGPT_URI,
  },
  {
    description: 'a query after the varying segment',
    redirectUri: 'https://chatgpt.com/connector/oauth/abc?to=https://evil.example',
    genuineUri: CHATGPT_URI,
  },
  {
    description: 'another path that begins like the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauthX/abc',
    genuineUri: CHATGPT_URI,
  },
  {
    description: 'the prefix at another host name',
    redirectUri: 'https://chatgpt.com.evil.example/connector/oauth/abc',
    genuineUri: CHATGPT_URI,
  },
  {
    description: 'another Google host name',
    redirectUri: 'https://oauth-redirect-sandbox.googleusercontent.com/r/x',
    genuineUri: GEMINI_URI,
  },
  {
    description: 'dot segments after the Gemini prefix',
    redirectUri: 'https://oauth-redirect.googleusercontent.com/r/../x',
    genuineUri: GEMINI_URI,
  },
  {
    description: 'a scheme that is not listed',
    redirectUri: 'evil://anysphere.cursor-mcp/oauth/callback',
    genuineUri: CURSOR_URI,
  },
  {
    description: 'another authority after the scheme',
    redirectUri: 'cursor://evil.cursor-mcp/oauth/callback',
    genuineUri: CURSOR_URI,
  },
  {
    description: 'another path after the authority',
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback2',
    genuineUri: CURSOR_URI,
  },
  {
    description: 'the scheme of the Claude desktop app, which any program on the computer can claim',
    redirectUri: 'claude://claude.ai/mcp-auth-callback/sdk',
    genuineUri: CLAUDE_URI,
  },
  { description: 'a javascript: URI', redirectUri: 'javascript:alert(1)', genuineUri: CURSOR_URI },
  { description: 'a data: URI', redirectUri: 'data:text/html,hello', genuineUri: CURSOR_URI },
  {
    description: 'https on loopback',
    redirectUri: 'https://localhost:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'a host name that begins with localhost',
    redirectUri: 'http://localhost.evil.example:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'a subdomain of localhost',
    redirectUri: 'http://evil.localhost:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'localhost as userinfo',
    redirectUri: 'http://localhost@evil.example/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'another loopback address',
    redirectUri: 'http://127.0.0.2:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'the loopback address as a decimal integer',
    redirectUri: 'http://2130706433:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'the loopback address, shortened and partly in hexadecimal',
    redirectUri: 'http://0x7f.1:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'the unspecified address',
    redirectUri: 'http://0.0.0.0:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'the loopback address as an IPv4-mapped IPv6 address',
    redirectUri: 'http://[::ffff:127.0.0.1]:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
  {
    description: 'a private address',
    redirectUri: 'http://192.168.1.10:8787/callback',
    genuineUri: LOOPBACK_URI,
  },
]

/** A redirect URI that resembles one of a host, but is not in the list of hosts. */
export interface LookAlike {
  readonly what: string
  readonly redirectUri: string
  /** The URI that it imitates. */
  readonly of: string
}

const CLAUDE_URI = 'https://claude.ai/api/mcp/auth_callback'
const CHATGPT_PREFIX = 'https://chatgpt.com/connector/oauth/kDmjx77UnKOM'
const GEMINI_PREFIX = 'https://oauth-redirect.googleusercontent.com/r/user-bound-4Tq1x_9-'
const CURSOR_URI = 'cursor://anysphere.cursor-mcp/oauth/callback'
const LOOPBACK_URI = 'http://localhost:8787/callback'

/** The service refuses each of these in a registration, in a document, and in an authorization request. */
export const LOOK_ALIKES: readonly LookAlike[] = [
  { what: 'another host', redirectUri: 'https://claude.ai.example/api/mcp/auth_callback', of: CLAUDE_URI },
  { what: 'the host as a suffix', redirectUri: 'https://notclaude.ai/api/mcp/auth_callback', of: CLAUDE_URI },
  { what: 'a subdomain', redirectUri: 'https://www.claude.ai/api/mcp/auth_callback', of: CLAUDE_URI },
  {
    what: 'a user before another host',
    redirectUri: 'https://claude.ai@evil.example/api/mcp/auth_callback',
    of: CLAUDE_URI,
  },
  {
    what: 'a user before the host',
    redirectUri: 'https://evil@claude.ai/api/mcp/auth_callback',
    of: CLAUDE_URI,
  },
  {
    what: 'a backslash in the host',
    redirectUri: 'https://evil.example\\@claude.ai/api/mcp/auth_callback',
    of: CLAUDE_URI,
  },
  { what: 'a dot behind the host', redirectUri: 'https://claude.ai./api/mcp/auth_callback', of: CLAUDE_URI },
  { what: 'another port', redirectUri: 'https://claude.ai:8443/api/mcp/auth_callback', of: CLAUDE_URI },
  {
    what: 'the default port, written',
    redirectUri: 'https://claude.ai:443/api/mcp/auth_callback',
    of: CLAUDE_URI,
  },
  { what: 'http', redirectUri: 'http://claude.ai/api/mcp/auth_callback', of: CLAUDE_URI },
  { what: 'capitals in the host', redirectUri: 'https://CLAUDE.ai/api/mcp/auth_callback', of: CLAUDE_URI },
  { what: 'capitals in the scheme', redirectUri: 'HTTPS://claude.ai/api/mcp/auth_callback', of: CLAUDE_URI },
  { what: 'capitals in the path', redirectUri: 'https://claude.ai/api/MCP/auth_callback', of: CLAUDE_URI },
  { what: 'another path', redirectUri: 'https://claude.ai/api/mcp/auth_callback2', of: CLAUDE_URI },
  {
    what: 'a slash behind the path',
    redirectUri: 'https://claude.ai/api/mcp/auth_callback/',
    of: CLAUDE_URI,
  },
  {
    what: 'no slash where the host has one',
    redirectUri: 'https://grok.com/connectors-oauth-exchange-code',
    of: 'https://grok.com/connectors-oauth-exchange-code/',
  },
  { what: 'dots in the path', redirectUri: 'https://claude.ai/x/../api/mcp/auth_callback', of: CLAUDE_URI },
  {
    what: 'an encoded letter in the path',
    redirectUri: 'https://claude.ai/api/mcp/auth%5Fcallback',
    of: CLAUDE_URI,
  },
  {
    what: 'a query',
    redirectUri: 'https://claude.ai/api/mcp/auth_callback?next=https://evil.example',
    of: CLAUDE_URI,
  },
  { what: 'a fragment', redirectUri: 'https://claude.ai/api/mcp/auth_callback#x', of: CLAUDE_URI },
  {
    what: 'letters of another alphabet',
    redirectUri: 'https://clаude.ai/api/mcp/auth_callback',
    of: CLAUDE_URI,
  },
  { what: 'a space before', redirectUri: ' https://claude.ai/api/mcp/auth_callback', of: CLAUDE_URI },
  { what: 'the page of a host, not its callback', redirectUri: 'https://claude.ai/', of: CLAUDE_URI },
  { what: 'the prefix alone', redirectUri: 'https://chatgpt.com/connector/oauth/', of: CHATGPT_PREFIX },
  {
    what: 'a segment more than the prefix has',
    redirectUri: 'https://chatgpt.com/connector/oauth/abc/evil',
    of: CHATGPT_PREFIX,
  },
  {
    what: 'dots behind the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauth/../../evil',
    of: CHATGPT_PREFIX,
  },
  {
    what: 'encoded dots behind the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauth/%2e%2e%2fevil',
    of: CHATGPT_PREFIX,
  },
  {
    what: 'a query behind the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauth/abc?to=https://evil.example',
    of: CHATGPT_PREFIX,
  },
  {
    what: 'another path that begins like the prefix',
    redirectUri: 'https://chatgpt.com/connector/oauthX/abc',
    of: CHATGPT_PREFIX,
  },
  {
    what: 'the prefix at another host',
    redirectUri: 'https://chatgpt.com.evil.example/connector/oauth/abc',
    of: CHATGPT_PREFIX,
  },
  {
    what: 'a project of anybody at Google',
    redirectUri: 'https://oauth-redirect-sandbox.googleusercontent.com/r/x',
    of: GEMINI_PREFIX,
  },
  {
    what: 'dots behind the prefix of Gemini',
    redirectUri: 'https://oauth-redirect.googleusercontent.com/r/../x',
    of: GEMINI_PREFIX,
  },
  {
    what: 'a scheme that is not listed',
    redirectUri: 'evil://anysphere.cursor-mcp/oauth/callback',
    of: CURSOR_URI,
  },
  {
    what: 'another authority behind the scheme',
    redirectUri: 'cursor://evil.cursor-mcp/oauth/callback',
    of: CURSOR_URI,
  },
  {
    what: 'another path behind the scheme',
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback2',
    of: CURSOR_URI,
  },
  {
    what: 'the scheme of the Claude app, which programs on a computer share',
    redirectUri: 'claude://claude.ai/mcp-auth-callback/sdk',
    of: CLAUDE_URI,
  },
  { what: 'a script', redirectUri: 'javascript:alert(1)', of: CURSOR_URI },
  { what: 'data', redirectUri: 'data:text/html,hello', of: CURSOR_URI },
  { what: 'https on loopback', redirectUri: 'https://localhost:8787/callback', of: LOOPBACK_URI },
  {
    what: 'a name that begins like loopback',
    redirectUri: 'http://localhost.evil.example:8787/callback',
    of: LOOPBACK_URI,
  },
  { what: 'a name below loopback', redirectUri: 'http://evil.localhost:8787/callback', of: LOOPBACK_URI },
  { what: 'a user before loopback', redirectUri: 'http://localhost@evil.example/callback', of: LOOPBACK_URI },
  {
    what: 'another address of this machine',
    redirectUri: 'http://127.0.0.2:8787/callback',
    of: LOOPBACK_URI,
  },
  { what: 'loopback as a number', redirectUri: 'http://2130706433:8787/callback', of: LOOPBACK_URI },
  { what: 'loopback in hexadecimal', redirectUri: 'http://0x7f.1:8787/callback', of: LOOPBACK_URI },
  { what: 'every address', redirectUri: 'http://0.0.0.0:8787/callback', of: LOOPBACK_URI },
  {
    what: 'loopback in IPv6 that is IPv4',
    redirectUri: 'http://[::ffff:127.0.0.1]:8787/callback',
    of: LOOPBACK_URI,
  },
  { what: 'a private address', redirectUri: 'http://192.168.1.10:8787/callback', of: LOOPBACK_URI },
]

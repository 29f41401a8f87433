import { API_VERSION } from '../api-version.ts'
import { serviceUrls } from '../service-urls.ts'

/** The revisions that the MCP server is tested with, the newest first. */
export const MCP_VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18'] as const

export const MCP_CAPABILITIES = {
  tools: { listChanged: false },
  // SEP-1046: a client without a person gets its token with client credentials.
  extensions: { 'io.modelcontextprotocol/oauth-client-credentials': {} },
}

/** Who the MCP server says it is. Its name is the host in reverse order and one slash, as server cards want it. */
export const mcpServerInfo = (origin: string) => ({
  name: `${reversedHost(origin)}/plainpath`,
  title: 'Plainpath',
  version: API_VERSION,
  description: 'Plain-English guides to U.S. immigration with official sources, and a waitlist.',
  websiteUrl: `${origin}/`,
})

/** What a model is told before it uses any tool. */
export const mcpInstructions = (origin: string): string =>
  [
    'Plain-English guides to U.S. immigration. They are information, not legal advice.',
    'Look for a guide with search_guides or list_guides and read it with get_guide before you answer.',
    'Name the official sources, show the disclaimer, and say when to talk to an attorney, as each guide lists it.',
    `No token is needed, except for send_contact_message. How to get one: ${serviceUrls(origin).authMd}`,
  ].join(' ')

/** An address in brackets stays in order, without what the name of a server cannot hold. */
function reversedHost(origin: string): string {
  const { hostname } = new URL(origin)
  if (hostname.startsWith('[')) return hostname.slice(1, -1).replaceAll(':', '-')
  return hostname.split('.').toReversed().join('.')
}

import { z } from 'zod'

export const API_TITLE = 'Plainpath Immigration Guidance API'
export const API_VERSION = '0.1.0'

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Returns whether the host of an origin is `localhost`, `127.0.0.1` or `[::1]`. Only this machine can reach these. */
export const isLoopbackOrigin = (origin: string) => LOOPBACK_HOSTS.has(new URL(origin).hostname)

/** Validates an origin in a setting. It must use https, or http on a loopback host. */
export const Origin = z.string().refine((text) => {
  const url = URL.parse(text)
  return (
    url !== null &&
    url.origin === text &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackOrigin(text)))
  )
}, 'must be an origin such as https://plainpath.example (http only on localhost), without a path or a trailing slash')

/**
 * Creates the service addresses. All but `publicMcp` are derived from `origin`.
 *
 * @param origin the site root and OAuth issuer, without a trailing slash, such as `https://plainpath.example`
 * @param mcpPublicOrigin the origin of the MCP server without sign-in, in the same form; must differ from `origin`
 */
export function createServiceUrls(origin: string, mcpPublicOrigin?: string) {
  const base = `${origin}/api`
  return {
    origin,
    /** The API root and OAuth resource identifier (RFC 8707). */
    base,
    authorize: `${origin}/oauth/authorize`,
    token: `${origin}/oauth/token`,
    revoke: `${origin}/oauth/revoke`,
    jwks: `${origin}/oauth/jwks.json`,
    /** The registration endpoint for apps that people connect (RFC 7591). Agents use `register`. */
    registerApp: `${origin}/oauth/register`,
    register: `${base}/agent/register`,
    agent: `${base}/agent`,
    agentKeys: `${base}/agent/jwks`,
    claim: `${base}/agent/claim`,
    authorizationServer: `${origin}/.well-known/oauth-authorization-server`,
    protectedResource: `${origin}/.well-known/oauth-protected-resource/api`,
    /** The API's resource metadata under its second name, the MCP server address. */
    mcpProtectedResource: `${origin}/.well-known/oauth-protected-resource/api/mcp`,
    apiCatalog: `${origin}/.well-known/api-catalog`,
    openapi: `${origin}/openapi.json`,
    skills: `${origin}/.well-known/agent-skills/index.json`,
    aiCatalog: `${origin}/.well-known/ai-catalog.json`,
    authMd: `${origin}/auth.md`,
    /** The six documents from here to `authLifetimes` have the details that `/auth.md` omits. */
    authVerifiedEmail: `${origin}/auth/verified-email.md`,
    authKeys: `${origin}/auth/keys.md`,
    authDomain: `${origin}/auth/domain.md`,
    authDpop: `${origin}/auth/dpop.md`,
    authErrors: `${origin}/auth/errors.md`,
    authLifetimes: `${origin}/auth/lifetimes.md`,
    llms: `${origin}/llms.txt`,
    sitemap: `${origin}/sitemap.xml`,
    /** The MCP server for agents. It is also a second name of the OAuth resource. */
    mcp: `${base}/mcp`,
    /** The MCP server for people in a chat app, with sign-in. It is a separate OAuth resource. */
    signedInMcp: `${origin}/mcp`,
    signedInMcpProtectedResource: `${origin}/.well-known/oauth-protected-resource/mcp`,
    /** The MCP server for people in a chat app, without sign-in; undefined if no origin is configured. */
    publicMcp: mcpPublicOrigin === undefined ? undefined : `${mcpPublicOrigin}/mcp`,
    mcpMd: `${origin}/mcp.md`,
    serverCard: `${base}/mcp/server-card`,
    /** Further addresses of the server card. Clients that follow earlier drafts request these. */
    serverCardAliases: [`${origin}/.well-known/mcp/server-card.json`, `${origin}/.well-known/mcp.json`],
    reference: `${origin}/docs`,
    /** The page that lists all guides, by situation. */
    guides: `${origin}/guides`,
    /** The page with urgent phone lines, and how to find a lawyer. */
    getHelp: `${origin}/get-help`,
    getHelpInSpanish: `${origin}/es/obtener-ayuda`,
    /** The page that lists all errors, by HTTP status. */
    problems: `${origin}/problems`,
    /** The question page. */
    ask: `${origin}/ask`,
    answers: `${base}/answers`,
    triggers: `${base}/triggers`,
    /** The page that shows how a person adds the MCP server to a chat app. */
    connect: `${origin}/connect`,
    /** The contact form. */
    contact: `${origin}/contact`,
    privacy: `${origin}/privacy`,
    terms: `${origin}/terms`,
    changelog: `${origin}/changelog`,
    skill: (name: string) => `${origin}/.well-known/agent-skills/${name}/SKILL.md`,
    problem: (code: string) => `${origin}/problems/${code}`,
    guide: (slug: string) => `${origin}/guides/${slug}`,
    guideJson: (slug: string) => `${base}/guides/${slug}`,
    referral: (slug: string) => `${origin}/?ref=${slug}`,
    /** The next two are links in mails about e-mail verification: to say whether an agent acts for the person, and to end its access. */
    claimAttempt: (secret: string) => `${origin}/claim?attempt=${secret}`,
    endClaim: (secret: string) => `${origin}/claim?end=${secret}`,
  }
}

export type ServiceUrls = Readonly<ReturnType<typeof createServiceUrls>>

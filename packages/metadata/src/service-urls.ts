import { z } from 'zod'

export const API_TITLE = 'Plainpath Immigration Guidance API'
export const API_VERSION = '0.1.0'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** True for an origin that only this machine can reach. */
export const isLoopback = (origin: string) => LOOPBACK.has(new URL(origin).hostname)

/** ORIGIN as it may be configured: https, or http on loopback; nothing behind the authority. */
export const Origin = z.string().refine((text) => {
  const url = URL.parse(text)
  return (
    url !== null &&
    url.origin === text &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(text)))
  )
}, 'must be an origin such as https://plainpath.example (http only on localhost), without a path or a trailing slash')

/**
 * The addresses of the service. All but one are made from ORIGIN, the site root and OAuth issuer.
 *
 * @param origin such as `https://plainpath.example`: scheme and authority, no path, no trailing slash
 * @param mcpPublicOrigin the origin of the MCP server that never asks for a sign-in, in the same form; another one than `origin`
 */
export function serviceUrls(origin: string, mcpPublicOrigin?: string) {
  const base = `${origin}/api`
  return {
    origin,
    /** The API root and OAuth resource identifier (RFC 8707). */
    base,
    authorize: `${origin}/oauth/authorize`,
    token: `${origin}/oauth/token`,
    revoke: `${origin}/oauth/revoke`,
    jwks: `${origin}/oauth/jwks.json`,
    /** Where apps that people connect from register (RFC 7591); agents use `register`. */
    registerApp: `${origin}/oauth/register`,
    register: `${base}/agent/register`,
    agent: `${base}/agent`,
    agentKeys: `${base}/agent/jwks`,
    claim: `${base}/agent/claim`,
    authorizationServer: `${origin}/.well-known/oauth-authorization-server`,
    protectedResource: `${origin}/.well-known/oauth-protected-resource/api`,
    /** The metadata of the API under its second name, the address of the MCP server. */
    mcpProtectedResource: `${origin}/.well-known/oauth-protected-resource/api/mcp`,
    apiCatalog: `${origin}/.well-known/api-catalog`,
    openapi: `${origin}/openapi.json`,
    skills: `${origin}/.well-known/agent-skills/index.json`,
    aiCatalog: `${origin}/.well-known/ai-catalog.json`,
    authMd: `${origin}/auth.md`,
    /** What `/auth.md` leaves out. */
    authVerifiedEmail: `${origin}/auth/verified-email.md`,
    authKeys: `${origin}/auth/keys.md`,
    authDomain: `${origin}/auth/domain.md`,
    authDpop: `${origin}/auth/dpop.md`,
    authErrors: `${origin}/auth/errors.md`,
    authLifetimes: `${origin}/auth/lifetimes.md`,
    llms: `${origin}/llms.txt`,
    sitemap: `${origin}/sitemap.xml`,
    /** The MCP server for agents, and a second name of the OAuth resource. */
    mcp: `${base}/mcp`,
    /** The MCP server for people in a chat app, which requires sign-in. It is an OAuth resource of its own. */
    signedInMcp: `${origin}/mcp`,
    signedInMcpProtectedResource: `${origin}/.well-known/oauth-protected-resource/mcp`,
    /** The MCP server for people that works without sign-in. Undefined where no origin is configured for it. */
    publicMcp: mcpPublicOrigin === undefined ? undefined : `${mcpPublicOrigin}/mcp`,
    mcpMd: `${origin}/mcp.md`,
    serverCard: `${base}/mcp/server-card`,
    /** The same card where clients of its earlier drafts look. */
    serverCardAliases: [`${origin}/.well-known/mcp/server-card.json`, `${origin}/.well-known/mcp.json`],
    reference: `${origin}/docs`,
    /** All guides, by situation. */
    guides: `${origin}/guides`,
    /** Urgent lines, and how to find a lawyer. */
    getHelp: `${origin}/get-help`,
    getHelpInSpanish: `${origin}/es/obtener-ayuda`,
    /** Every error, by its HTTP status. */
    problems: `${origin}/problems`,
    /** The page to ask a question on. */
    ask: `${origin}/ask`,
    answers: `${base}/answers`,
    triggers: `${base}/triggers`,
    /** How a person adds the MCP server to a chat app. */
    connect: `${origin}/connect`,
    /** The page to write to staff. */
    contact: `${origin}/contact`,
    privacy: `${origin}/privacy`,
    terms: `${origin}/terms`,
    changelog: `${origin}/changelog`,
    skill: (name: string) => `${origin}/.well-known/agent-skills/${name}/SKILL.md`,
    problem: (code: string) => `${origin}/problems/${code}`,
    guide: (slug: string) => `${origin}/guides/${slug}`,
    guideJson: (slug: string) => `${base}/guides/${slug}`,
    referral: (slug: string) => `${origin}/?ref=${slug}`,
    /** The pages behind mailed links. */
    claimAttempt: (secret: string) => `${origin}/claim?attempt=${secret}`,
    endClaim: (secret: string) => `${origin}/claim?end=${secret}`,
  }
}

export type ServiceUrls = Readonly<ReturnType<typeof serviceUrls>>

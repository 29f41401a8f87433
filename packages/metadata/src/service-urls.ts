/** The addresses of the service, all made from ORIGIN, the site root and OAuth issuer. */
export interface ServiceUrls {
  readonly origin: string
  /** The API root and OAuth resource identifier (RFC 8707). */
  readonly base: string
  readonly authorize: string
  readonly token: string
  readonly revoke: string
  readonly jwks: string
  readonly register: string
  readonly agent: string
  readonly claim: string
  readonly authorizationServer: string
  readonly protectedResource: string
  readonly apiCatalog: string
  readonly openapi: string
  readonly skills: string
  readonly aiCatalog: string
  readonly authMd: string
  readonly llms: string
  readonly sitemap: string
  readonly mcp: string
  readonly serverCard: string
  /** The same card where clients of its earlier drafts look. */
  readonly serverCardAliases: readonly string[]
  readonly reference: string
  /** The page to write to the desk. */
  readonly contact: string
  readonly privacy: string
  readonly terms: string
  readonly changelog: string
  skill(name: string): string
  problem(code: string): string
  guide(slug: string): string
  referral(slug: string): string
  /** The pages behind mailed links. */
  claimAttempt(secret: string): string
  endClaim(secret: string): string
}

/** @param origin such as `https://plainpath.example`: scheme and authority, no path, no trailing slash */
export function serviceUrls(origin: string): ServiceUrls {
  const base = `${origin}/api`
  return {
    origin,
    base,
    authorize: `${origin}/oauth/authorize`,
    token: `${origin}/oauth/token`,
    revoke: `${origin}/oauth/revoke`,
    jwks: `${origin}/oauth/jwks.json`,
    register: `${base}/agent/register`,
    agent: `${base}/agent`,
    claim: `${base}/agent/claim`,
    authorizationServer: `${origin}/.well-known/oauth-authorization-server`,
    protectedResource: `${origin}/.well-known/oauth-protected-resource/api`,
    apiCatalog: `${origin}/.well-known/api-catalog`,
    openapi: `${origin}/openapi.json`,
    skills: `${origin}/.well-known/agent-skills/index.json`,
    aiCatalog: `${origin}/.well-known/ai-catalog.json`,
    authMd: `${origin}/auth.md`,
    llms: `${origin}/llms.txt`,
    sitemap: `${origin}/sitemap.xml`,
    mcp: `${base}/mcp`,
    serverCard: `${base}/mcp/server-card`,
    serverCardAliases: [`${origin}/.well-known/mcp/server-card.json`, `${origin}/.well-known/mcp.json`],
    reference: `${origin}/docs`,
    contact: `${origin}/contact`,
    privacy: `${origin}/privacy`,
    terms: `${origin}/terms`,
    changelog: `${origin}/changelog`,
    skill: (name) => `${origin}/.well-known/agent-skills/${name}/SKILL.md`,
    problem: (code) => `${origin}/problems/${code}`,
    guide: (slug) => `${origin}/guides/${slug}`,
    referral: (slug) => `${origin}/?ref=${slug}`,
    claimAttempt: (secret) => `${origin}/claim?attempt=${secret}`,
    endClaim: (secret) => `${origin}/claim?end=${secret}`,
  }
}

/** The addresses of the service, all made from ORIGIN, the site root and OAuth issuer (contract §1). */
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
  readonly authorizationServer: string
  readonly protectedResource: string
  problem(code: string): string
  guide(slug: string): string
  referral(slug: string): string
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
    authorizationServer: `${origin}/.well-known/oauth-authorization-server`,
    protectedResource: `${origin}/.well-known/oauth-protected-resource/api`,
    problem: (code) => `${origin}/problems/${code}`,
    guide: (slug) => `${origin}/guides/${slug}`,
    referral: (slug) => `${origin}/?ref=${slug}`,
  }
}

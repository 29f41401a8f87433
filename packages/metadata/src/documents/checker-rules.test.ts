import { describe, expect, test } from 'vitest'
import { contentAt, documentsByPath, jsonAt, ORIGIN } from '../../test/document-config.ts'
import { serviceUrls } from '../service-urls.ts'
import { formatHomeLinkHeader } from './catalogs.ts'

/** The rules of public checkers about documents. Their rules about responses are in e2e/in-process. */
const typeAt = (path: string) => documentsByPath().get(path)?.contentType

interface Target {
  href: string
  type?: string
}

describe('isitagentready.com (Cloudflare)', () => {
  test('apiCatalog: a linkset whose entries have an anchor and the relations of a service', () => {
    const { linkset } = jsonAt('/.well-known/api-catalog') as { linkset: Record<string, Target[] | string>[] }
    for (const context of linkset) expect(context['anchor']).toMatch(/^https:/)
    const api = linkset.find(({ anchor }) => anchor === `${ORIGIN}/api`)
    for (const relation of ['service-desc', 'service-doc', 'service-meta', 'status'])
      expect((api?.[relation] as Target[] | undefined)?.[0]?.href).toMatch(/^https:/)
  })

  test('apiCatalog: the media type is a linkset with the profile of RFC 9727', () => {
    expect(typeAt('/.well-known/api-catalog')).toBe(
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    )
  })

  test('agentSkills: an index with an array of skills at the path of version 0.2.0', () => {
    expect(jsonAt('/.well-known/agent-skills/index.json').skills.length).toBeGreaterThan(0)
    expect(typeAt('/.well-known/agent-skills/index.json')).toBe('application/json')
  })

  test('authMd: an H1 with the literal auth.md', () => {
    expect(contentAt('/auth.md')).toMatch(/^# .*auth\.md/)
    expect(typeAt('/auth.md')).toBe('text/markdown; charset=utf-8')
  })

  test('authMd: a protected resource with scopes and the bearer method "header"', () => {
    const resource = jsonAt('/.well-known/oauth-protected-resource')
    expect(resource.resource).toBe(`${ORIGIN}/api`)
    expect(resource.scopes_supported.length).toBeGreaterThan(0)
    expect(resource.bearer_methods_supported).toContain('header')
  })

  test('authMd: the issuer is the server that the protected resource names', () => {
    const [server] = jsonAt('/.well-known/oauth-protected-resource').authorization_servers
    expect(jsonAt('/.well-known/oauth-authorization-server').issuer).toBe(server)
  })

  test('authMd: agent_auth names the skill, the place to register and the credentials of each type', () => {
    const { agent_auth } = jsonAt('/.well-known/oauth-authorization-server')
    expect(agent_auth).toMatchObject({
      skill: `${ORIGIN}/auth.md`,
      register_uri: `${ORIGIN}/api/agent/register`,
    })
    for (const type of agent_auth.identity_types_supported)
      expect(agent_auth[type].credential_types_supported.length).toBeGreaterThan(0)
  })

  test('authMd: anonymous and verified e-mail are complete, with claim_uri on top', () => {
    const { agent_auth } = jsonAt('/.well-known/oauth-authorization-server')
    expect(agent_auth.claim_uri).toBe(`${ORIGIN}/api/agent/claim`)
    expect(agent_auth.identity_types_supported).toEqual(['anonymous', 'identity_assertion'])
    expect(agent_auth.identity_assertion.assertion_types_supported).toEqual(['verified_email'])
    for (const type of agent_auth.identity_types_supported)
      expect(agent_auth[type]).toMatchObject({ claim_uri: agent_auth.claim_uri })
  })

  test('oauthDiscovery: issuer, authorization_endpoint, token_endpoint and jwks_uri', () => {
    const server = jsonAt('/.well-known/oauth-authorization-server')
    for (const member of ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'])
      expect(server[member]).toMatch(/^https:/)
  })

  test('oauthDiscovery: apps register at an address of their own (RFC 7591), not at that of agents', () => {
    const server = jsonAt('/.well-known/oauth-authorization-server')
    expect(server['registration_endpoint']).toBe('https://plainpath.example/oauth/register')
    expect(server['registration_endpoint']).not.toBe(server['agent_auth'].register_uri)
  })

  test.for([
    'GPTBot',
    'ChatGPT-User',
    'OAI-SearchBot',
    'Google-Extended',
    'CCBot',
    'anthropic-ai',
    'PerplexityBot',
  ])('robotsTxtAiRules: %s is named', (crawler) =>
    expect(contentAt('/robots.txt')).toMatch(new RegExp(`^User-agent: ${crawler}$`, 'm')),
  )

  test('contentSignals: in the group of everybody', () => {
    const [group = ''] = contentAt('/robots.txt').split('\n\n')
    expect(group).toMatch(/^User-agent: \*$/m)
    expect(group).toMatch(/^Content-Signal: search=yes, ai-input=yes, ai-train=no$/m)
  })

  test('robotsTxt and sitemap: robots.txt names the sitemap', () => {
    expect(contentAt('/robots.txt')).toContain(`Sitemap: ${ORIGIN}/sitemap.xml`)
    expect(typeAt('/robots.txt')).toMatch(/^text\/plain/)
    expect(typeAt('/sitemap.xml')).toMatch(/^application\/xml/)
  })

  test('ard: robots.txt and the home page name the AI catalog', () => {
    const address = `${ORIGIN}/.well-known/ai-catalog.json`
    expect(contentAt('/robots.txt')).toContain(`Agentmap: ${address}`)
    expect(formatHomeLinkHeader(serviceUrls(ORIGIN))).toContain(`<${address}>; rel="ai-catalog"`)
    expect(typeAt('/.well-known/ai-catalog.json')).toBe('application/ai-catalog+json')
  })

  test.for(['api-catalog', 'service-desc', 'service-doc', 'describedby'])(
    'linkHeaders: the home page names its %s',
    (relation) => expect(formatHomeLinkHeader(serviceUrls(ORIGIN))).toContain(`; rel="${relation}"; type="`),
  )
})

describe('ora.ai', () => {
  test('api-catalog: the first entry of the linkset has the items', () => {
    const { linkset } = jsonAt('/.well-known/api-catalog')
    expect(linkset[0].item.map(({ href }: Target) => href)).toEqual([
      `${ORIGIN}/api`,
      `${ORIGIN}/api/mcp`,
      `${ORIGIN}/mcp`,
    ])
  })

  test('agent-skills: the index itself says when to use it', () => {
    expect(jsonAt('/.well-known/agent-skills/index.json').instructions).toMatch(/^Use these when/)
  })

  test('llms.txt: an H1, a summary, lists of links and when to use', () => {
    const text = contentAt('/llms.txt')
    expect(text).toMatch(/^# Plainpath\n\n> .+\n\n## When to use\n/)
    expect(text).toMatch(/^## Guides\n\n- \[.+\]\(https:.+\): .+$/m)
  })

  test('agent auth: the skill, the place to register, and a sibling for each identity type', () => {
    const { agent_auth } = jsonAt('/.well-known/oauth-authorization-server')
    expect(Object.keys(agent_auth)).toEqual(
      expect.arrayContaining(['skill', 'register_uri', ...agent_auth.identity_types_supported]),
    )
  })

  test('agent auth: the two metadata documents name each other', () => {
    const server = jsonAt('/.well-known/oauth-authorization-server')
    const resource = jsonAt('/.well-known/oauth-protected-resource')
    expect(server.protected_resources).toContain(resource.resource)
    expect(resource.authorization_servers).toContain(server.issuer)
  })

  test('ai-catalog: every entry has a name, a type and one address', () => {
    for (const entry of jsonAt('/.well-known/ai-catalog.json').entries)
      expect(entry).toMatchObject({
        displayName: expect.stringMatching(/./),
        type: expect.stringMatching(/^application\//),
        url: expect.stringMatching(/^https:/),
      })
  })
})

import { describe, expect, test } from 'vitest'
import { createDocumentsByPath, getContentAt, getJsonAt, ORIGIN } from '../../test/document-config.ts'
import { createServiceUrls } from '../service-urls.ts'
import { formatHomeLinkHeader } from './catalogs.ts'

/*
 * The rules of public checkers about documents. Tests in `e2e/in-process` check their rules about responses.
 */

const getContentType = (path: string) => createDocumentsByPath().get(path)?.contentType

interface Target {
  href: string
  type?: string
}

describe('isitagentready.com (Cloudflare)', () => {
  test('apiCatalog: every entry of the linkset has an anchor, and the entry of the API has the relations of a service', () => {
    const { linkset } = getJsonAt('/.well-known/api-catalog') as {
      linkset: Record<string, Target[] | string>[]
    }
    for (const context of linkset) expect(context['anchor']).toMatch(/^https:/)
    const api = linkset.find(({ anchor }) => anchor === `${ORIGIN}/api`)
    for (const relation of ['service-desc', 'service-doc', 'service-meta', 'status'])
      expect((api?.[relation] as Target[] | undefined)?.[0]?.href).toMatch(/^https:/)
  })

  test('apiCatalog: the media type is the one for linksets, with the profile of RFC 9727', () => {
    expect(getContentType('/.well-known/api-catalog')).toBe(
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    )
  })

  test('agentSkills: a JSON index at the path of version 0.2.0 lists skills', () => {
    expect(getJsonAt('/.well-known/agent-skills/index.json').skills.length).toBeGreaterThan(0)
    expect(getContentType('/.well-known/agent-skills/index.json')).toBe('application/json')
  })

  test('authMd: /auth.md is Markdown, and its H1 contains auth.md', () => {
    expect(getContentAt('/auth.md')).toMatch(/^# .*auth\.md/)
    expect(getContentType('/auth.md')).toBe('text/markdown; charset=utf-8')
  })

  test('authMd: the protected resource is the API, and has scopes and the bearer method "header"', () => {
    const resource = getJsonAt('/.well-known/oauth-protected-resource')
    expect(resource.resource).toBe(`${ORIGIN}/api`)
    expect(resource.scopes_supported.length).toBeGreaterThan(0)
    expect(resource.bearer_methods_supported).toContain('header')
  })

  test('authMd: the issuer is the authorization server that the protected resource lists', () => {
    const [server] = getJsonAt('/.well-known/oauth-protected-resource').authorization_servers
    expect(getJsonAt('/.well-known/oauth-authorization-server').issuer).toBe(server)
  })

  test('authMd: agent_auth has the skill, the registration address and the credential types of each identity type', () => {
    const { agent_auth } = getJsonAt('/.well-known/oauth-authorization-server')
    expect(agent_auth).toMatchObject({
      skill: `${ORIGIN}/auth.md`,
      register_uri: `${ORIGIN}/api/agent/register`,
    })
    for (const type of agent_auth.identity_types_supported)
      expect(agent_auth[type].credential_types_supported.length).toBeGreaterThan(0)
  })

  test('authMd: agent_auth and both identity types have the same claim_uri', () => {
    const { agent_auth } = getJsonAt('/.well-known/oauth-authorization-server')
    expect(agent_auth.claim_uri).toBe(`${ORIGIN}/api/agent/claim`)
    expect(agent_auth.identity_types_supported).toEqual(['anonymous', 'identity_assertion'])
    expect(agent_auth.identity_assertion.assertion_types_supported).toEqual(['verified_email'])
    for (const type of agent_auth.identity_types_supported)
      expect(agent_auth[type]).toMatchObject({ claim_uri: agent_auth.claim_uri })
  })

  test('oauthDiscovery: issuer, authorization_endpoint, token_endpoint and jwks_uri are https addresses', () => {
    const server = getJsonAt('/.well-known/oauth-authorization-server')
    for (const member of ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'])
      expect(server[member]).toMatch(/^https:/)
  })

  test('oauthDiscovery: the registration endpoint of apps (RFC 7591) differs from that of agents', () => {
    const server = getJsonAt('/.well-known/oauth-authorization-server')
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
  ])('robotsTxtAiRules: robots.txt names %s', (crawler) =>
    expect(getContentAt('/robots.txt')).toMatch(new RegExp(`^User-agent: ${crawler}$`, 'm')),
  )

  test('contentSignals: the group for all crawlers has a content signal', () => {
    const [group = ''] = getContentAt('/robots.txt').split('\n\n')
    expect(group).toMatch(/^User-agent: \*$/m)
    expect(group).toMatch(/^Content-Signal: search=yes, ai-input=yes, ai-train=no$/m)
  })

  test('robotsTxt and sitemap: robots.txt is plain text and names the sitemap, which is XML', () => {
    expect(getContentAt('/robots.txt')).toContain(`Sitemap: ${ORIGIN}/sitemap.xml`)
    expect(getContentType('/robots.txt')).toMatch(/^text\/plain/)
    expect(getContentType('/sitemap.xml')).toMatch(/^application\/xml/)
  })

  test('ard: robots.txt and the home page name the AI catalog', () => {
    const address = `${ORIGIN}/.well-known/ai-catalog.json`
    expect(getContentAt('/robots.txt')).toContain(`Agentmap: ${address}`)
    expect(formatHomeLinkHeader(createServiceUrls(ORIGIN))).toContain(`<${address}>; rel="ai-catalog"`)
    expect(getContentType('/.well-known/ai-catalog.json')).toBe('application/ai-catalog+json')
  })

  test.for(['api-catalog', 'service-desc', 'service-doc', 'describedby'])(
    'linkHeaders: the home page links to its %s',
    (relation) =>
      expect(formatHomeLinkHeader(createServiceUrls(ORIGIN))).toContain(`; rel="${relation}"; type="`),
  )
})

describe('ora.ai', () => {
  test('api-catalog: the first entry of the linkset lists the API and two MCP servers as items', () => {
    const { linkset } = getJsonAt('/.well-known/api-catalog')
    expect(linkset[0].item.map(({ href }: Target) => href)).toEqual([
      `${ORIGIN}/api`,
      `${ORIGIN}/api/mcp`,
      `${ORIGIN}/mcp`,
    ])
  })

  test('agent-skills: the index says when to use the skills', () => {
    expect(getJsonAt('/.well-known/agent-skills/index.json').instructions).toMatch(/^Use these when/)
  })

  test('llms.txt: has an H1, a summary, a section on when to use it, and a list of links', () => {
    const text = getContentAt('/llms.txt')
    expect(text).toMatch(/^# Plainpath\n\n> .+\n\n## When to use\n/)
    expect(text).toMatch(/^## Guides\n\n- \[.+\]\(https:.+\): .+$/m)
  })

  test('agent auth: agent_auth has a skill, a registration address, and a member for each identity type', () => {
    const { agent_auth } = getJsonAt('/.well-known/oauth-authorization-server')
    expect(Object.keys(agent_auth)).toEqual(
      expect.arrayContaining(['skill', 'register_uri', ...agent_auth.identity_types_supported]),
    )
  })

  test('agent auth: the two metadata documents list each other’s identifiers', () => {
    const server = getJsonAt('/.well-known/oauth-authorization-server')
    const resource = getJsonAt('/.well-known/oauth-protected-resource')
    expect(server.protected_resources).toContain(resource.resource)
    expect(resource.authorization_servers).toContain(server.issuer)
  })

  test('ai-catalog: every entry has a name, a media type and an https address', () => {
    for (const entry of getJsonAt('/.well-known/ai-catalog.json').entries)
      expect(entry).toMatchObject({
        displayName: expect.stringMatching(/./),
        type: expect.stringMatching(/^application\//),
        url: expect.stringMatching(/^https:/),
      })
  })
})

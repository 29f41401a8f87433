import { createHash } from 'node:crypto'
import { Scope } from '@plainpath/domain'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import {
  addressesIn,
  CONFIG,
  contentAt,
  documentsByPath,
  jsonAt,
  ORIGIN,
} from '../../test/document-config.ts'
import * as schemas from '../../test/document-schemas.ts'
import { authorizationServerMetadata } from '../oauth-metadata.ts'
import { appFor } from '../paths.ts'
import { serviceUrls } from '../service-urls.ts'
import { authDocuments, resourceDocuments } from './documents.ts'

const URLS = serviceUrls(ORIGIN)
const ajv = new Ajv2020({ allErrors: true, strict: false })
formats.default(ajv)

const PRM = '/.well-known/oauth-protected-resource'
const SERVER = '/.well-known/oauth-authorization-server'
const SKILLS = '/.well-known/agent-skills/index.json'

const FORMATS = [
  ['/.well-known/api-catalog', schemas.LINKSET],
  [SKILLS, schemas.SKILLS_INDEX],
  ['/.well-known/ai-catalog.json', schemas.AI_CATALOG],
  [PRM, schemas.PROTECTED_RESOURCE],
  [`${PRM}/api`, schemas.PROTECTED_RESOURCE],
  [SERVER, schemas.AUTHORIZATION_SERVER],
] as const

test.for(FORMATS)('%s keeps its format', ([path, schema]) => {
  const check = ajv.compile(schema)
  const document = jsonAt(path)
  expect({ valid: check(document), errors: check.errors }).toEqual({ valid: true, errors: null })
})

test('every document names the same issuer, resource and scopes', () => {
  const [resource, server] = [jsonAt(PRM), jsonAt(SERVER)]
  const openapi = jsonAt('/openapi.json')
  expect(resource.authorization_servers).toEqual([server.issuer])
  expect(server.protected_resources).toEqual([resource.resource])
  expect(openapi.servers[0].url).toBe(resource.resource)
  expect(new URL(resource.resource).origin).toBe(server.issuer)
  const { tokenUrl, scopes } = openapi.components.securitySchemes.oauth2.flows.clientCredentials
  expect(tokenUrl).toBe(server.token_endpoint)
  for (const supported of [server.scopes_supported, resource.scopes_supported, Object.keys(scopes)])
    expect(supported).toEqual(Scope.options)
  const inAuthMd = [...contentAt('/auth.md').matchAll(/^\| `(\w+:\w+)` \|/gm)]
  expect(inAuthMd.map(([, scope]) => scope)).toEqual(Scope.options)
})

test('no document can be mistaken for one of another origin', () => {
  const config = { origin: 'http://localhost:8080', securityContact: 'mailto:a@b.c' }
  for (const { path, content } of documentsByPath(config).values()) {
    expect(content, path).not.toContain('plainpath.example')
    expect(content, path).not.toMatch(/undefined|\[object|NaN/)
  }
})

test('each app serves documents at its own addresses, once', () => {
  const paths = { auth: authDocuments(URLS), resource: resourceDocuments(URLS, CONFIG) }
  for (const [app, documents] of Object.entries(paths))
    for (const { path } of documents) expect(appFor(path), path).toBe(app)
  const all = [...paths.auth, ...paths.resource].map(({ path }) => path)
  expect(new Set(all).size).toBe(all.length)
})

test('a document is a function of its configuration', () => {
  const contents = () => [...documentsByPath().values()]
  expect(contents()).toEqual(contents())
})

const NAMES = {
  'the MCP server': /\bmcp\b/i,
  'the reference': /\/docs\b/,
  'the privacy page': /\/privacy/,
  'the terms': /\/terms/,
  'the changelog': /\/changelog/,
} as const

test.for(Object.entries(NAMES))('documents name %s', ([, words]) => {
  const texts = [...documentsByPath().values()].map(({ content }) => content).join('\n')
  expect(texts).toMatch(words)
})

describe('the skills', () => {
  const index = jsonAt(SKILLS)

  test('are the two of the specification', () => {
    expect(index.skills.map(({ name }: { name: string }) => name)).toEqual([
      'use-immigration-guidance-api',
      'hand-off-to-an-attorney',
    ])
  })

  test.for<{ name: string; description: string; url: string; digest: string }>(index.skills)(
    '$name: the digest is of the bytes served, and its front matter has nothing but what skills-ref knows',
    ({ name, description, url, digest }) => {
      expect(new URL(url).pathname).toBe(`/.well-known/agent-skills/${name}/SKILL.md`)
      const content = contentAt(new URL(url).pathname)
      expect(digest).toBe(`sha256:${createHash('sha256').update(content, 'utf8').digest('hex')}`)
      const [, front = ''] = /^---\n([\s\S]*?)\n---\n/.exec(content) ?? []
      const members = [...front.matchAll(/^(\S+): ?(.*)$/gm)].map(([, key, value]) => [key, value])
      expect(members.map(([key]) => key)).toEqual([
        'name',
        'description',
        'license',
        'compatibility',
        'metadata',
      ])
      expect(Object.fromEntries(members)).toMatchObject({ name, description: JSON.stringify(description) })
      expect(content.split('\n').length).toBeLessThan(500)
    },
  )

  test('lead to both official lists of attorneys', () => {
    const content = contentAt('/.well-known/agent-skills/hand-off-to-an-attorney/SKILL.md')
    for (const list of CONFIG.attorneyLists) expect(content).toContain(list)
  })
})

describe('auth.md', () => {
  const text = contentAt('/auth.md')
  const blocks = (kind: string) =>
    [...text.matchAll(new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)\n\`\`\`$`, 'gm'))].map(
      ([, block = '']) => block,
    )

  test('has JSON that parses, and that is what the documents say', () => {
    const [resource, server] = blocks('json').map((block) => JSON.parse(block))
    expect(resource).toEqual(jsonAt(PRM))
    expect(server).toEqual({ agent_auth: jsonAt(SERVER).agent_auth })
  })

  test('names no address that is not ours', () => {
    expect(addressesIn(text).filter((address) => !address.startsWith(ORIGIN))).toEqual([])
  })

  test('says rightly in which section keys are', () => {
    const [, section] = /^## (\d)\. Keys/m.exec(text) ?? []
    expect(text).toContain(`you need no secret: section ${section}.`)
  })

  test('says that tokens end with the key that got them, and how to prove a new key', () => {
    const [, section = ''] = /^## \d\. Keys.*\n([\s\S]*?)^## /m.exec(text) ?? []
    expect(section).toContain('If a key has leaked, remove it at once: its tokens end with it.')
    expect(section).toContain('A set that only adds keys ends no token')
    expect(section).toMatch(/`proof`.*a JWT signed with the new key/)
    expect(section).toContain('`typ` exactly `jwks-proof+jwt`')
    expect(section).toContain('the answer has a `warning`')
  })

  test('names the errors of confirmation by e-mail and of messages', () => {
    const codes = [
      ...['invalid-grant', 'no-claim', 'otp-locked', 'code-not-shown'],
      ...['token-required', 'insufficient-scope'],
    ]
    expect(codes.filter((code) => !text.includes(`/problems/${code} |`))).toEqual([])
  })

  test('names every endpoint of the metadata that an agent needs', () => {
    const server = authorizationServerMetadata(URLS)
    for (const address of [server.token_endpoint, server.revocation_endpoint, server.agent_auth.register_uri])
      expect(text).toContain(address)
  })
})

describe('security.txt (RFC 9116)', () => {
  const field = (name: string, change: Parameters<typeof contentAt>[1] = {}) =>
    new RegExp(`^${name}: (.+)$`, 'm').exec(contentAt('/.well-known/security.txt', change))?.[1] ?? ''

  test('says whom to write to, and where it stands', () => {
    expect(field('Contact')).toBe('mailto:security@plainpath.example')
    expect(field('Canonical')).toBe(`${ORIGIN}/.well-known/security.txt`)
    expect(documentsByPath().get('/.well-known/security.txt')?.contentType).toBe('text/plain; charset=utf-8')
  })

  test.for(['2026-11-20T12:00:00Z', '2026-11-30T23:59:59Z', '2027-01-01T00:00:00Z'])(
    'expires within a year, and not for months, when the app starts at %s',
    (text) => {
      const builtAt = new Date(text)
      const days = (Date.parse(field('Expires', { builtAt })) - builtAt.getTime()) / 86_400_000
      expect(days).toBeGreaterThan(300)
      expect(days).toBeLessThan(365)
    },
  )

  test('has the same bytes for all who start in one month', () => {
    const at = (day: string) => contentAt('/.well-known/security.txt', { builtAt: new Date(day) })
    expect(at('2026-11-01T00:00:00Z')).toBe(at('2026-11-30T23:59:59Z'))
  })
})

test('the sitemap lists the home page, every guide with its day, and what agents read', () => {
  const text = contentAt('/sitemap.xml')
  const listed = [...text.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address]) => address)
  expect(listed).toEqual(
    expect.arrayContaining([
      `${ORIGIN}/`,
      `${ORIGIN}/guides/work-permit`,
      `${ORIGIN}/auth.md`,
      `${ORIGIN}/llms.txt`,
    ]),
  )
  expect(text).toContain(`<loc>${ORIGIN}/guides/work-permit</loc><lastmod>2026-11-20</lastmod>`)
  expect(text.startsWith('<?xml version="1.0" encoding="UTF-8"?>\n<urlset ')).toBe(true)
})

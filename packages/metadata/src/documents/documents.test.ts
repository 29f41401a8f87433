import { createHash } from 'node:crypto'
import { Scope } from '@plainpath/domain'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import {
  CONFIG,
  createDocumentsByPath,
  getContentAt,
  getJsonAt,
  listAddresses,
  ORIGIN,
} from '../../test/document-config.ts'
import * as schemas from '../../test/document-schemas.ts'
import { createAuthorizationServerMetadata } from '../oauth-metadata.ts'
import { findAppForPath } from '../paths.ts'
import { createServiceUrls } from '../service-urls.ts'
import { createAuthDocuments, createResourceDocuments } from './documents.ts'

const URLS = createServiceUrls(ORIGIN)
const ajv = new Ajv2020({ allErrors: true, strict: false })
formats.default(ajv)

const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'
const SERVER_METADATA = '/.well-known/oauth-authorization-server'
const SKILLS = '/.well-known/agent-skills/index.json'

const DOCUMENT_SCHEMAS = [
  ['/.well-known/api-catalog', schemas.LINKSET],
  [SKILLS, schemas.SKILLS_INDEX],
  ['/.well-known/ai-catalog.json', schemas.AI_CATALOG],
  [RESOURCE_METADATA, schemas.PROTECTED_RESOURCE],
  [`${RESOURCE_METADATA}/api`, schemas.PROTECTED_RESOURCE],
  [`${RESOURCE_METADATA}/api/mcp`, schemas.PROTECTED_RESOURCE],
  [SERVER_METADATA, schemas.AUTHORIZATION_SERVER],
] as const

test.for(DOCUMENT_SCHEMAS)('%s matches the schema of its format', ([path, schema]) => {
  const validate = ajv.compile(schema)
  const document = getJsonAt(path)
  expect({ valid: validate(document), errors: validate.errors }).toEqual({ valid: true, errors: null })
})

test('the metadata, the API description and lifetimes.md agree on issuer, resource and scopes', () => {
  const [resource, server] = [getJsonAt(RESOURCE_METADATA), getJsonAt(SERVER_METADATA)]
  const openapi = getJsonAt('/openapi.json')
  expect(resource.authorization_servers).toEqual([server.issuer])
  expect(server.protected_resources).toEqual([
    resource.resource,
    getJsonAt(`${RESOURCE_METADATA}/api/mcp`).resource,
    getJsonAt(`${RESOURCE_METADATA}/mcp`).resource,
  ])
  expect(openapi.servers[0].url).toBe(resource.resource)
  expect(new URL(resource.resource).origin).toBe(server.issuer)
  const { tokenUrl, scopes } = openapi.components.securitySchemes.oauth2.flows.clientCredentials
  expect(tokenUrl).toBe(server.token_endpoint)
  expect(server.scopes_supported).toEqual([...Scope.options, 'offline_access'])
  for (const scopeList of [resource.scopes_supported, Object.keys(scopes)])
    expect(scopeList).toEqual(Scope.options)
  const scopeRows = [...getContentAt('/auth/lifetimes.md').matchAll(/^\| `(\w+:\w+)` \|/gm)]
  expect(scopeRows.map(([, scope]) => scope)).toEqual(Scope.options)
})

test('the documents of another origin contain neither the default host of the tests nor an unfilled value', () => {
  const config = { origin: 'http://localhost:8080', securityContact: 'mailto:a@b.c' }
  for (const { path, content } of createDocumentsByPath(config).values()) {
    expect(content, path).not.toContain('plainpath.example')
    expect(content, path).not.toMatch(/undefined|\[object|NaN/)
  }
})

test('each app serves documents only at its own paths, and no path twice', () => {
  const documentsByApp = { auth: createAuthDocuments(URLS), resource: createResourceDocuments(URLS, CONFIG) }
  for (const [app, documents] of Object.entries(documentsByApp))
    for (const { path } of documents) expect(findAppForPath(path), path).toBe(app)
  const paths = Object.values(documentsByApp).flatMap((documents) => documents.map(({ path }) => path))
  expect(new Set(paths).size).toBe(paths.length)
})

test('one configuration gives the same documents each time', () => {
  const createContents = () =>
    [...createDocumentsByPath().values()].map(({ path, contentType, content, headers }) => ({
      path,
      contentType,
      content,
      headers,
    }))
  expect(createContents()).toEqual(createContents())
})

const MENTIONED_SUBJECTS = {
  'the MCP server': /\bmcp\b/i,
  'the reference': /\/docs\b/,
  'the privacy page': /\/privacy/,
  'the terms': /\/terms/,
  'the changelog': /\/changelog/,
} as const

test.for(Object.entries(MENTIONED_SUBJECTS))('at least one document mentions %s', ([, pattern]) => {
  const texts = [...createDocumentsByPath().values()].map(({ content }) => content).join('\n')
  expect(texts).toMatch(pattern)
})

describe('the skills', () => {
  const index = getJsonAt(SKILLS)

  test('are one for using the API and one for handing off', () => {
    expect(index.skills.map(({ name }: { name: string }) => name)).toEqual([
      'use-immigration-guidance-api',
      'hand-off-to-an-attorney',
    ])
  })

  test.for<{ name: string; description: string; url: string; digest: string }>(index.skills)(
    '$name: the index has the digest of the served bytes, and the front matter has only members that skills-ref accepts',
    ({ name, description, url, digest }) => {
      expect(new URL(url).pathname).toBe(`/.well-known/agent-skills/${name}/SKILL.md`)
      const content = getContentAt(new URL(url).pathname)
      expect(digest).toBe(`sha256:${createHash('sha256').update(content, 'utf8').digest('hex')}`)
      const [, frontMatter = ''] = /^---\n([\s\S]*?)\n---\n/.exec(content) ?? []
      const members = [...frontMatter.matchAll(/^(\S+): ?(.*)$/gm)].map(([, key, value]) => [key, value])
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

  test('include one for handing off that names every configured list of attorneys', () => {
    const content = getContentAt('/.well-known/agent-skills/hand-off-to-an-attorney/SKILL.md')
    for (const list of CONFIG.attorneyLists) expect(content).toContain(list)
  })
})

const AUTH_DOCUMENTS = [
  '/auth.md',
  '/auth/verified-email.md',
  '/auth/keys.md',
  '/auth/domain.md',
  '/auth/dpop.md',
  '/auth/errors.md',
  '/auth/lifetimes.md',
] as const

test('dpop.md shows the hash of the token that its request sends', () => {
  const text = getContentAt('/auth/dpop.md')
  const [, hash] = /"ath": "([^"]+)"/.exec(text) ?? []
  const [, token = ''] = /Authorization: DPoP (ppt_\w+)/.exec(text) ?? []
  expect(hash).toBe(createHash('sha256').update(token).digest('base64url'))
})

describe('auth.md', () => {
  const text = getContentAt('/auth.md')

  test('has fewer than 5,000 bytes', () => {
    expect(Buffer.byteLength(text)).toBeLessThan(5_000)
  })

  test('links to the other documents; verified-email.md and keys.md link to errors.md', () => {
    for (const path of AUTH_DOCUMENTS.slice(1)) expect(text).toContain(`](${ORIGIN}${path})`)
    for (const path of ['/auth/verified-email.md', '/auth/keys.md'])
      expect(getContentAt(path)).toContain(`](${ORIGIN}/auth/errors.md)`)
  })

  test('has the DELETE command in the section "Leave", and not in the quick start', () => {
    const [, quickStart = ''] = /^## Quick start\n([\s\S]*?)^## /m.exec(text) ?? []
    const [, leaveSection = ''] = /^## Leave\n([\s\S]*?)^## /m.exec(text) ?? []
    expect(quickStart).not.toContain('DELETE')
    expect(leaveSection).toContain(`-X DELETE -u "$id:$secret" ${ORIGIN}/api/agent `)
  })

  test('has the addresses for tokens, revocation and agent registration', () => {
    const server = createAuthorizationServerMetadata(URLS)
    for (const address of [server.token_endpoint, server.revocation_endpoint, server.agent_auth.register_uri])
      expect(text).toContain(address)
  })
})

test.for(AUTH_DOCUMENTS)('%s has only addresses of this service outside code blocks', (path) => {
  // Commands in code blocks may have example addresses.
  const prose = getContentAt(path).replaceAll(/^```[\s\S]*?^```$/gm, '')
  expect(listAddresses(prose).filter((address) => !address.startsWith(ORIGIN))).toEqual([])
})

test('keys.md says that removing a key revokes the tokens, and how to prove a new key', () => {
  const text = getContentAt('/auth/keys.md')
  expect(text).toContain('If you remove a key, or move from a secret to keys, all your tokens are revoked')
  expect(text).toContain('A set that only adds keys revokes no token.')
  expect(text).toContain('`typ` is exactly `jwks-proof+jwt`.')
  expect(text).toContain('the response has a `warning`')
})

test('apart from the API description, only errors.md says which member of an error to decide by', () => {
  const documents = [...createDocumentsByPath()].filter(([, { content }]) => /\bdecide by `/i.test(content))
  const paths = documents.map(([path]) => path)
  // The OpenAPI description says it where it describes the member.
  expect(paths.filter((path) => path !== '/openapi.json')).toEqual(['/auth/errors.md'])
})

test.for([
  '/llms.txt',
  '/.well-known/agent-skills/use-immigration-guidance-api/SKILL.md',
  '/.well-known/agent-skills/hand-off-to-an-attorney/SKILL.md',
  '/auth.md',
])('%s links to the steps for sending a message, and says what to share', (path) => {
  const text = getContentAt(path)
  expect(text).toContain(`${ORIGIN}/auth/verified-email.md`)
  expect(text).toMatch(/Share only what (the person|they) agreed to share, and no more than staff need/)
})

describe('security.txt (RFC 9116)', () => {
  const readField = (name: string, change: Parameters<typeof getContentAt>[1] = {}) =>
    new RegExp(`^${name}: (.+)$`, 'm').exec(getContentAt('/.well-known/security.txt', change))?.[1] ?? ''

  test('is plain text with the contact and its own address', () => {
    expect(readField('Contact')).toBe('mailto:security@plainpath.example')
    expect(readField('Canonical')).toBe(`${ORIGIN}/.well-known/security.txt`)
    expect(createDocumentsByPath().get('/.well-known/security.txt')?.contentType).toBe(
      'text/plain; charset=utf-8',
    )
  })

  // The file is valid for longest after a start in the first second of a month, and shortest after one in the last second.
  test.for(['2026-11-20T12:00:00Z', '2026-11-30T23:59:59Z', '2027-01-01T00:00:00Z'])(
    'expires 300 to 365 days after an app start at %s',
    (text) => {
      const startedAt = new Date(text)
      const days = (Date.parse(readField('Expires', { startedAt })) - startedAt.getTime()) / 86_400_000
      expect(days).toBeGreaterThan(300)
      expect(days).toBeLessThan(365)
    },
  )

  test('has the same bytes on instances that started in the same month', () => {
    const createFile = (startTime: string) =>
      getContentAt('/.well-known/security.txt', { startedAt: new Date(startTime) })
    expect(createFile('2026-11-01T00:00:00Z')).toBe(createFile('2026-11-30T23:59:59Z'))
  })
})

test('the sitemap lists the home page, a guide with its last change, /auth.md and /llms.txt', () => {
  const text = getContentAt('/sitemap.xml')
  const addresses = [...text.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address]) => address)
  expect(addresses).toEqual(
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

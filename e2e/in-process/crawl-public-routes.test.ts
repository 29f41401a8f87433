import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiDescription, listOperations } from '../crawl/api-description.ts'
import { crawlService, type Visit } from '../crawl/crawl-service.ts'
import { listPostTargets } from '../crawl/post-targets.ts'
import { type System, startSystem } from './start-system.ts'

let system: System
let visits: readonly Visit[]
let documentedOperations: ReadonlySet<string>
beforeAll(async () => {
  system = await startSystem()
  visits = await crawlService(`${system.origin}/`)
  const description = JSON.parse(
    visits.find(({ href }) => href.endsWith('/openapi.json'))?.text ?? '',
  ) as ApiDescription
  documentedOperations = new Set(
    listOperations(description).map(
      ({ method, urlTemplate }) => `${method} ${decodeURI(new URL(urlTemplate).pathname)}`,
    ),
  )
})
afterAll(() => system[Symbol.asyncDispose]())

/** Paths that programs request without a link: crawlers (RFC 9309), browsers and phones. */
const CONVENTIONAL_PATHS = new Set(['/robots.txt', '/favicon.ico', '/apple-touch-icon.png'])
/** The paths of a sign-in. The metadata of the authorization server names the first, whose responses lead to the others. */
const SIGN_IN_PATHS = new Set(['/oauth/authorize', '/oauth/authorize/{uid}', '/oauth/sign-in/{uid}'])

/** The paths of pages to which only links in mails lead. */
const MAILED_PATHS = new Set([
  '/claim',
  '/waitlist/confirm',
  '/waitlist/remove',
  '/contact/confirm',
  '/contact/withdraw',
])

test('every public path is named by a document, a link, a mail or a convention, or serves the same page as one that is', async () => {
  const unnamed: string[] = []
  for (const { method, path } of system.publicEndpoints)
    if (!(await isNamed(method, path))) unnamed.push(`${method} ${path}`)
  expect(unnamed).toEqual([])
  // Without endpoints, the check above would pass.
  expect(system.publicEndpoints.length).toBeGreaterThan(25)
})

async function isNamed(method: string, path: string): Promise<boolean> {
  if (CONVENTIONAL_PATHS.has(path) || SIGN_IN_PATHS.has(path) || MAILED_PATHS.has(path)) return true
  if (documentedOperations.has(`${method} ${path}`)) return true
  // A crawl sends GET requests without a token, so it can visit neither a POST endpoint nor the signed-in MCP server (`/mcp`), which
  // responds to them with 401. The documents that the crawl has read must name these paths.
  if (method === 'POST' || path === '/mcp') return listPostTargets(visits).has(`${system.origin}${path}`)
  return isVisited(path) || isAlias(path)
}

/** Returns whether the crawl found the path. For a path with parameters, one instance is enough. */
function isVisited(path: string): boolean {
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
  return visits.some(({ href, status }) => status === 200 && pattern.test(new URL(href).pathname))
}

/** Returns whether the path serves the same bytes as a page that the crawl found. Some clients request such a path although no link leads to it. */
async function isAlias(path: string): Promise<boolean> {
  if (path.includes('{')) return false
  const text = await (await fetch(`${system.origin}${path}`)).text()
  return visits.some((visit) => visit.status === 200 && visit.text === text)
}

test('every documented operation is served', () => {
  const served = new Set(system.publicEndpoints.map(({ method, path }) => `${method} ${path}`))
  expect([...documentedOperations].filter((operation) => !served.has(operation))).toEqual([])
})

describe('an unnamed path gets 404, and no HTML under the paths that programs read', () => {
  // Near-misses of served paths, and well-known documents that the service does not have. `/oauth/introspect` is served only on
  // the internal listener of auth.
  test.for([
    '/.well-known/openid-configuration',
    '/.well-known/agent-card.json',
    '/.well-known/agent.json',
    '/.well-known/ai-plugin.json',
    '/.well-known/whatever',
    '/.well-known/agent-skills/other/SKILL.md',
    '/.well-known/oauth-protected-resource/other',
    '/.well-known/oauth-authorization-server/api',
    '/api/guide',
    '/api/whatever',
    '/api/agent/whatever',
    '/oauth/introspect',
    '/oauth/auth',
    '/oauth/Token',
    '/oauth/token/',
  ])('%s', async (path) => {
    const response = await fetch(`${system.origin}${path}`, { headers: { accept: 'text/html,*/*' } })
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toMatch(/^application\/(problem\+)?json(;|$)/)
  })

  // Default paths of oidc-provider, and paths of the listener for operations.
  test.for([
    '/me',
    '/session/end',
    '/request',
    '/token',
    '/reg',
    '/device',
    '/jwks',
    '/live',
    '/ready',
    '/metrics',
  ])('%s', async (path) => {
    for (const method of ['GET', 'POST'])
      expect((await fetch(`${system.origin}${path}`, { method })).status).toBe(404)
  })
})

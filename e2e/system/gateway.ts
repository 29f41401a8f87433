import { readFileSync } from 'node:fs'
import { APP_PATHS, findAppForPath } from '@plainpath/metadata'
import { toPublicMcpOrigin } from '@plainpath/stack/start-gateway'
import { describe, expect, test } from 'vitest'
import { basic, createSender, form, json } from '../send.ts'
import type { System } from './open-system.ts'

const CADDYFILE = new URL('../../infra/gateway/Caddyfile', import.meta.url)

/** Returns the app that sent an error. Only the errors of auth have a member `error`. */
const findSendingApp = (text: string) => ('error' in (JSON.parse(text) as object) ? 'auth' : 'resource')

/** Counts the requests for the list of guides that the instances of the API have served. */
async function countServedGuideRequests({ stack }: System): Promise<number> {
  const counts = stack.resource.map(async ({ ports }) => {
    const text = await (await fetch(`http://127.0.0.1:${ports.operations}/metrics`)).text()
    const lines = text.matchAll(/^http_request_duration_seconds_count\{[^}]*"\/api\/guides"[^}]*\} (\d+)/gm)
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0)
  })
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/**
 * Tests the routing, the hosts, the body limits and the errors of the gateway. Different tests send from different addresses,
 * because limits count the requests of an address.
 */
export function describeGateway(getSystem: () => System): void {
  describe('the gateway', () => {
    test('routes each path to the app that the path table names', async () => {
      const system = getSystem()
      const [, routed] = /@auth \{\s+path (.+)/.exec(readFileSync(CADDYFILE, 'utf8')) ?? []
      expect(routed?.split(' ')).toEqual(
        APP_PATHS.filter(({ app }) => app === 'auth').map(({ path }) => path),
      )
      const sender = system.createSender({ from: '127.0.0.10' })
      const samples = [
        ...APP_PATHS.map(({ path }) => path.replace('*', 'nothing-is-here')),
        '/oauth/token/',
        '/oauth/Token',
        '/api/agents',
        '/api/agent/',
        '/.well-known/nothing',
      ]
      for (const path of samples) {
        const { status, text } = await sender.send({ path })
        if (status >= 400 && /^\/(oauth|api)\//.test(path))
          expect(findSendingApp(text), path).toBe(findAppForPath(path))
        else expect([200, 404], path).toContain(status)
      }
    })

    test('serves only the MCP server at the public MCP address', async () => {
      const system = getSystem()
      // Not `system.createSender`: its senders check that an error is JSON, but the 404 at this address is plain text.
      using sender = createSender(system.origin, { from: '127.0.0.19' })
      const { host, origin } = new URL(toPublicMcpOrigin(Number(new URL(system.origin).port)))
      for (const path of [
        ...APP_PATHS.map((row) => row.path.replace('*', 'x')),
        '/oauth/token',
        '/api/guides',
      ]) {
        const { status, text } = await sender.send({ path, headers: { host } })
        expect([status, text], path).toEqual([
          404,
          `There is nothing here. The MCP server is at ${origin}/mcp\n`,
        ])
      }
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      const accept = 'application/json, text/event-stream'
      const request = { method: 'POST', path: '/mcp', ...json(message) }
      const toolList = await sender.send({ ...request, headers: { ...request.headers, accept, host } })
      expect(toolList.status).toBe(200)
      expect(toolList.text).toContain('"answer_question"')
    })

    test('does not make introspection reachable, even with the credentials of the API', async () => {
      const system = getSystem()
      const token = await system.issueToken(await system.register())
      const content = form({ token })
      const accept = 'application/token-introspection+jwt'
      const apiCredentials = basic(system.stack.env['RESOURCE_CLIENT_ID'] ?? '', system.apiSecret)
      for (const credentials of [{}, apiCredentials])
        for (const path of [
          '/oauth/introspect',
          '/oauth/introspect/',
          '/OAUTH/introspect',
          '/oauth/%69ntrospect',
        ]) {
          const request = {
            method: 'POST',
            path,
            ...content,
            headers: { ...content.headers, accept, ...credentials },
          }
          expect((await system.createSender({ from: '127.0.0.11' }).send(request)).status).toBe(404)
        }
      const [auth] = system.stack.auth
      const directSender = system.createSender({ url: `http://127.0.0.1:${auth?.ports.internal}` })
      const request = {
        method: 'POST',
        path: '/oauth/introspect',
        ...content,
        headers: { ...content.headers, accept, ...apiCredentials },
      }
      expect((await directSender.send(request)).status).toBe(200)
    })

    test('does not route the operations listeners, and shows only a summary at /api/health', async () => {
      const system = getSystem()
      const sender = system.createSender({ from: '127.0.0.12' })
      for (const path of [
        '/live',
        '/ready',
        '/metrics',
        '/admin',
        '/api/agents',
        '/api/waitlist/entries',
        '/debug',
        '/status',
      ])
        expect((await sender.send({ path })).status, path).toBe(404)
      const health = JSON.parse((await sender.send({ path: '/api/health' })).text) as Record<string, unknown>
      expect(Object.keys(health).sort()).toEqual(['answers', 'checks', 'status', 'version'])
      for (const { ports } of [...system.stack.auth, ...system.stack.resource])
        expect((await fetch(`http://127.0.0.1:${ports.operations}/metrics`)).status).toBe(200)
    })

    test('rejects other hosts, and ignores forged forwarding headers', async () => {
      const system = getSystem()
      const sender = system.createSender({ from: '127.0.0.13' })
      const forgedHeaders = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-prefix': '/evil',
        forwarded: 'host=evil.example;proto=https',
        'x-original-url': '/evil',
        'x-rewrite-url': '/evil',
      }
      for (const path of [
        '/.well-known/oauth-authorization-server',
        '/.well-known/oauth-protected-resource',
        '/oauth/jwks.json',
        '/',
      ]) {
        const { text } = await sender.send({ path })
        expect((await sender.send({ path, headers: forgedHeaders })).text).toBe(text)
      }
      const { port } = new URL(system.origin)
      for (const host of [`127.0.0.2:${port}`, 'evil.example', `localhost.evil.example:${port}`]) {
        const refusal = await sender.send({ path: '/api/health', headers: { host } })
        expect(refusal.status).toBe(421)
        expect(refusal.text).toContain(`available at ${system.origin} only`)
      }
    })

    test.for([
      [
        'a wrong secret',
        {
          method: 'POST',
          path: '/oauth/token',
          ...form({
            grant_type: 'client_credentials',
            client_id: `agt_${'A'.repeat(22)}`,
            client_secret: 'wrong-secret',
          }),
        },
        401,
        'invalid_client',
      ],
      [
        'a grant without credentials',
        { method: 'POST', path: '/oauth/token', ...form({ grant_type: 'password' }) },
        401,
        'invalid_client',
      ],
      ['GET at the token endpoint', { path: '/oauth/token' }, 405, 'invalid_request'],
      [
        'a compressed body',
        {
          method: 'POST',
          path: '/api/agent/register',
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
          body: '{}',
        },
        415,
        'invalid_request',
      ],
      [
        'a list as the body',
        { method: 'POST', path: '/api/agent/register', ...json([]) },
        400,
        'invalid_client_metadata',
      ],
      [
        'a body of 66 kB',
        { method: 'POST', path: '/api/agent/register', ...json({ client_name: 'x'.repeat(66_000) }) },
        413,
        'invalid_request',
      ],
      ['no credentials at /api/agent', { path: '/api/agent' }, 401, 'invalid_client'],
    ] as const)(
      'responds with the status and error of OAuth: %s',
      async ([_description, request, status, error]) => {
        const response = await getSystem().createSender({ from: '127.0.0.14' }).send(request)
        expect([response.status, (JSON.parse(response.text) as { error: string }).error]).toEqual([
          status,
          error,
        ])
      },
    )

    test.for([
      [
        'an invalid e-mail address',
        { method: 'POST', path: '/api/waitlist', ...json({ email: 'nobody' }) },
        400,
        'invalid-request',
      ],
      [
        'an unknown member',
        { method: 'POST', path: '/api/waitlist', ...json({ email: 'a@example.org', admin: true }) },
        400,
        'invalid-request',
      ],
      [
        'a content type other than JSON',
        { method: 'POST', path: '/api/waitlist', headers: { 'content-type': 'text/plain' }, body: '{}' },
        415,
        'unsupported-media-type',
      ],
      [
        'a malformed token',
        { path: '/api/guides', headers: { authorization: 'Bearer x' } },
        401,
        'invalid-token',
      ],
      ['a token in the query', { path: '/api/guides?access_token=x' }, 400, 'invalid-request'],
      ['a method that is not allowed', { method: 'DELETE', path: '/api/guides' }, 405, 'method-not-allowed'],
      ['an unknown path', { path: '/api/nothing' }, 404, 'not-found'],
      ['an unknown guide', { path: '/api/guides/nothing' }, 404, 'not-found'],
    ] as const)(
      'passes on the status and code of the API: %s',
      async ([_description, request, status, code]) => {
        const response = await getSystem().createSender({ from: '127.0.0.15' }).send(request)
        expect([response.status, (JSON.parse(response.text) as { code: string }).code]).toEqual([
          status,
          code,
        ])
      },
    )

    test.for([
      ['/api/agent/register', { error: 'invalid_request' }],
      ['/oauth/token', { error: 'invalid_request' }],
      ['/api/waitlist', { code: 'content-too-large' }],
    ] as const)(
      'responds with 413 to a body over the limit of the gateway, and keeps serving both apps: %s',
      async ([path, refusal]) => {
        const sender = getSystem().createSender({ from: '127.0.0.17' })
        const tooLarge = { method: 'POST', path, ...json({ client_name: 'x'.repeat(100_000) }) }
        for (let attempt = 0; attempt < 4; attempt += 1) {
          const { status, text } = await sender.send(tooLarge)
          expect([status, JSON.parse(text)]).toMatchObject([413, refusal])
          for (const otherPath of ['/.well-known/oauth-authorization-server', '/api/guides'])
            expect((await sender.send({ path: otherPath })).status).toBe(200)
        }
      },
    )

    test('forwards a GET with a large body once', async () => {
      const system = getSystem()
      const sender = system.createSender({ from: '127.0.0.18' })
      const countBefore = await countServedGuideRequests(system)
      const body = 'x'.repeat(200_000)
      for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
        expect((await sender.send({ path: '/api/guides', headers, body })).status).toBe(200)
      expect((await countServedGuideRequests(system)) - countBefore).toBe(2)
    })

    test('sends errors under /oauth/ as JSON, regardless of Accept', async () => {
      for (const path of ['/oauth/token', '/oauth/nothing', '/oauth/introspect'])
        for (const accept of ['text/html', 'image/png', '*/*']) {
          const response = await getSystem()
            .createSender({ from: '127.0.0.16' })
            .send({ path, headers: { accept } })
          expect(response.headers.get('content-type'), path).toMatch(/^application\/json/)
        }
    })
  })
}

import { ANONYMOUS_SCOPES, Scope } from '@plainpath/domain'
import {
  APP_GRANT_TYPES,
  createAuthorizationServerMetadata,
  JWT_BEARER_GRANT,
  serviceUrls,
} from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { asAgent, GRANT, getToken, type Registered, register } from './agent-client.ts'
import { claimMailbox, getAssertion } from './claim-mailbox.ts'
import { CANARY, expectProblem, expectSafe, type Refusal } from './expect-refusal.ts'
import { assertionFields, assertionOf, newKey, registerKeys } from './key-agent.ts'
import { rawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
let agent: Registered
beforeAll(async () => {
  auth = await startAuth()
  agent = await register(auth)
})
afterAll(() => auth[Symbol.asyncDispose]())

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Every public path with its methods. Any other path responds 404 to every method. */
const PUBLIC: Record<string, string[]> = {
  '/.well-known/oauth-authorization-server': ['GET', 'HEAD'],
  '/api/agent': ['DELETE', 'GET', 'HEAD'],
  '/api/agent/assertion': ['POST'],
  '/api/agent/claim': ['DELETE', 'POST'],
  '/api/agent/claim/complete': ['POST'],
  '/api/agent/jwks': ['PUT'],
  '/api/agent/register': ['POST'],
  '/api/agent/secrets': ['POST'],
  '/api/agent/secrets/6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10': ['DELETE'],
  '/auth.md': ['GET', 'HEAD'],
  '/auth/domain.md': ['GET', 'HEAD'],
  '/auth/dpop.md': ['GET', 'HEAD'],
  '/auth/errors.md': ['GET', 'HEAD'],
  '/auth/keys.md': ['GET', 'HEAD'],
  '/auth/lifetimes.md': ['GET', 'HEAD'],
  '/auth/verified-email.md': ['GET', 'HEAD'],
  '/claim': ['GET', 'HEAD', 'POST'],
  '/oauth/authorize': ['GET', 'HEAD'],
  '/oauth/authorize/an-interaction': ['GET', 'HEAD'],
  '/oauth/jwks.json': ['GET', 'HEAD'],
  '/oauth/register': ['POST'],
  '/oauth/revoke': ['POST'],
  '/oauth/token': ['POST'],
}
const INTERNAL: Record<string, string[]> = {
  '/oauth/introspect': ['POST'],
  '/oauth/jwks.json': ['GET', 'HEAD'],
}
/** Paths that oidc-provider would serve, and paths similar to ours. */
const NOWHERE = [
  ...[
    '/',
    '/auth',
    '/auth/x',
    '/me',
    '/token',
    '/jwks',
    '/reg',
    '/reg/x',
    '/request',
    '/device',
    '/device/auth',
  ],
  ...['/session/end', '/session/end/confirm', '/backchannel', '/interaction/x', '/challenge', '/credential'],
  ...['/.well-known/openid-configuration', '/.well-known/openid-credential-issuer', '/.well-known/jwks.json'],
  ...['/.well-known/oauth-authorization-server/', '/.well-known/oauth-authorization-server/api'],
  ...[
    '/.well-known/oauth-protected-resource',
    '/oauth',
    '/oauth/',
    '/oauth/register',
    '/oauth/reg',
    '/oauth/auth',
  ],
  ...['/oauth/Token', '/oauth/TOKEN', '/Oauth/token', '/oauth/token/', '/oauth//token', '//oauth/token'],
  ...[
    '/oauth/token.json',
    '/oauth/token;x=1',
    '/oauth/%74oken',
    '/oauth%2ftoken',
    '/oauth/token%2f',
    '/oauth/token%00',
  ],
  ...[
    '/oauth/jwks',
    '/oauth/jwks.json/',
    '/oauth/Revoke',
    '/oauth/revoke/',
    '/oauth/Introspect',
    '/oauth/introspect/',
  ],
  ...['/api', '/api/', '/api/agent/', '/api/Agent', '/api/agents', '/api/agent/x', '/api/agent/register/'],
  ...[
    '/api/agent/Register',
    '/api/agent/secrets/',
    '/api/agent/secrets/x/y',
    '/api/agent/%72egister',
    '/agent/register',
  ],
  ...['/live', '/ready', '/metrics', '/favicon.ico', '/__proto__', '/constructor', '/oauth/__proto__'],
]

describe.for([
  ['public', PUBLIC, () => auth.url],
  ['internal', INTERNAL, () => auth.internalUrl],
] satisfies [string, Record<string, string[]>, () => string][])('the %s listener', ([_name, served, url]) => {
  test.for(Object.entries(served))('serves %s', async ([path, allowed]) => {
    for (const method of METHODS) {
      const { status, headers } = await send(url(), { method, path, headers: { accept: 'text/html' } })
      // A page says that it has nothing for this link.
      const nothing = status === 404 && !headers.get('content-type')?.startsWith('text/html')
      expect([method, status === 405 || nothing]).toEqual([method, !allowed.includes(method)])
      if (status === 405) expect(headers.get('allow')?.split(', ').sort()).toEqual(allowed)
    }
  })

  test('serves no other path', async () => {
    const elsewhere = [...new Set([...NOWHERE, ...Object.keys({ ...PUBLIC, ...INTERNAL })])]
    const found: string[] = []
    for (const path of elsewhere.filter((each) => !Object.hasOwn(served, each)))
      for (const method of ['GET', 'POST']) {
        const [answer] = await sendRaw(url(), rawRequest(`${method} ${path}`, ['Content-Length: 0']))
        if (answer?.status !== 404) found.push(`${method} ${path} ${answer?.status}`)
        else expectProblem(answer, { status: 404, code: 'not-found', form: errorForm(path) })
      }
    expect(found).toEqual([])
  })
})
const errorForm = (path: string): NonNullable<Refusal['form']> =>
  path.startsWith('/oauth/') && !path.startsWith('/oauth/authorize')
    ? 'oauth'
    : path.startsWith('/api/agent')
      ? 'agent'
      : 'problem'

test('the operations listener serves /live, /ready and /metrics, without secrets', async () => {
  await getToken(auth, agent)
  const answers = await Promise.all(
    ['/live', '/ready', '/metrics', '/', '/oauth/token'].map((path) => send(auth.operationsUrl, { path })),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 404])
  expect(JSON.parse(answers[1]!.text)).toMatchObject({ status: 'ready', checks: { database: 'ok' } })
  for (const secret of auth.confidential) expect(answers[2]!.text).not.toContain(secret)
  expect(answers[2]!.text).toContain('route="/oauth/token"')
  expect(answers[2]!.text).toMatch(/^tokens_issued_total\{scope="guides:read",service="auth"\} [1-9]/m)
  expect(answers[2]!.text).toContain('database_pool{state="max",service="auth"} 12')
  expect(answers[2]!.text).toContain('database_shed_total{service="auth"} 0')
  expect(answers[2]!.text).not.toContain(agent.client_id)
})

describe('/.well-known/oauth-authorization-server', () => {
  const read = async () => {
    const answer = await send(auth.url, { path: '/.well-known/oauth-authorization-server' })
    const document = createAuthorizationServerMetadata(serviceUrls('https://plainpath.example'))
    expect(JSON.parse(answer.text)).toEqual(document)
    return { answer, document }
  }
  const pathOf = (url: string) => new URL(url).pathname

  test('names the configured issuer', async () => {
    const { answer, document } = await read()
    expect(document.issuer).toBe('https://plainpath.example')
    expect(document.protected_resources).toEqual([
      'https://plainpath.example/api',
      'https://plainpath.example/api/mcp',
      'https://plainpath.example/mcp',
    ])
    expect(answer.headers.get('content-type')).toMatch(/^application\/json(; charset=utf-8)?$/)
    await expectSafe(auth, answer)
  })

  test('lists exactly the public routes', async () => {
    const { document } = await read()
    const named = [
      document.authorization_endpoint,
      document.token_endpoint,
      document.registration_endpoint,
      document.revocation_endpoint,
      document.jwks_uri,
      document.agent_auth.register_uri,
      document.agent_auth.claim_uri,
      document.agent_auth.claim_complete_uri,
      document.service_documentation,
    ]
    expect(named.every((url) => url.startsWith('https://plainpath.example/'))).toBe(true)
    // auth.md and the documents that it links name the others; RFC 8414 names this document, and a mail its page.
    const unnamed = [
      ...Object.keys(PUBLIC).filter((path) => path.startsWith('/auth/')),
      ...['/api/agent', '/api/agent/assertion', '/api/agent/jwks', '/claim'],
      ...Object.keys(PUBLIC).filter((path) => path.startsWith('/api/agent/secrets')),
      '/.well-known/oauth-authorization-server',
      // The authorization endpoint leads there.
      '/oauth/authorize/an-interaction',
    ]
    expect([...named.map(pathOf), ...unnamed].sort()).toEqual(Object.keys(PUBLIC))
  })

  test('lists only grants, scopes and authentication methods that work', async () => {
    const { document } = await read()
    const post = (headers: Record<string, string>, fields: Record<string, string>) =>
      send(auth.url, {
        method: 'POST',
        path: pathOf(document.token_endpoint),
        headers,
        body: new URLSearchParams(fields),
      })
    const { client_id, client_secret } = agent
    const credentialsByMethod: Record<string, [Record<string, string>, Record<string, string>]> = {
      client_secret_basic: [asAgent(agent), {}],
      client_secret_post: [{}, { client_id, client_secret }],
    }
    // Apps authenticate with none, and have grants of their own: see `app-connections.test.ts`.
    const methods = [...Object.keys(credentialsByMethod), 'none', 'private_key_jwt']
    expect(document.revocation_endpoint_auth_methods_supported.toSorted()).toEqual(methods)
    expect(document.token_endpoint_auth_methods_supported.toSorted()).toEqual(methods)
    const algorithms = document.token_endpoint_auth_signing_alg_values_supported
    expect(document.revocation_endpoint_auth_signing_alg_values_supported).toEqual(algorithms)
    const signers = await Promise.all(algorithms.map(async (each) => registerKeys(auth, await newKey(each))))
    await claimMailbox(auth, agent)
    const assertion = await getAssertion(auth, agent)
    const grants: Record<string, { scopes: readonly string[]; more: Record<string, string> }> = {
      client_credentials: { scopes: ANONYMOUS_SCOPES, more: {} },
      [JWT_BEARER_GRANT]: { scopes: Scope.options, more: { assertion } },
    }
    expect([...APP_GRANT_TYPES, ...Object.keys(grants)]).toEqual(document.grant_types_supported)
    expect(document.scopes_supported).toEqual([...Scope.options, 'offline_access'])
    const granted = async (
      way: readonly [Record<string, string>, Record<string, string>],
      fields: Record<string, string>,
    ) => JSON.parse((await post(way[0], { ...way[1], ...fields })).text) as unknown
    for (const [grant_type, { scopes, more }] of Object.entries(grants))
      for (const scope of scopes)
        for (const credentials of Object.values(credentialsByMethod))
          expect(await granted(credentials, { grant_type, scope, ...more })).toMatchObject({
            scope,
            token_type: 'Bearer',
          })
    for (const signer of signers) {
      const fields = { ...assertionFields(await assertionOf(auth, signer)), grant_type: 'client_credentials' }
      expect(await granted([{}, fields], {})).toMatchObject({ scope: ANONYMOUS_SCOPES.join(' ') })
    }
  })
})

describe('/oauth/jwks.json', () => {
  test('holds public keys only, each usable and named once', async () => {
    const { text } = await send(auth.url, { path: '/oauth/jwks.json' })
    const { keys } = z.object({ keys: z.array(z.record(z.string(), z.string())) }).parse(JSON.parse(text))
    expect(keys).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        alg: 'ES256',
        use: 'sig',
        kid: expect.any(String),
        x: expect.any(String),
        y: expect.any(String),
      },
    ])
    const inside = await send(auth.internalUrl, { path: '/oauth/jwks.json' })
    expect(JSON.parse(inside.text)).toMatchObject({ keys })
  })
})

describe.for(['/.well-known/oauth-authorization-server', '/oauth/jwks.json', '/auth.md', '/auth/keys.md'])(
  '%s',
  (path) => {
    test('is cacheable and can be revalidated', async () => {
      const answer = await send(auth.url, { path })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
      expect(answer.headers.get('vary')?.split(', ').sort()).toEqual([
        'Accept',
        'Accept-Encoding',
        'Authorization',
      ])
      const etag = answer.headers.get('etag') ?? ''
      expect(etag).toMatch(/^"[A-Za-z0-9_-]{22}(-gz)?"$/)
      // fetch would ask every cache on the way for a new copy.
      const condition = ['Accept-Encoding: gzip, deflate', `If-None-Match: ${etag}`]
      const [again] = await sendRaw(auth.url, rawRequest(`GET ${path}`, condition))
      expect([again?.status, again?.text]).toEqual([304, ''])
      await expectSafe(auth, answer)
      await expectSafe(auth, again!)
    })

    test('has the same headers for HEAD as for GET', async () => {
      const [get, head] = [await send(auth.url, { path }), await send(auth.url, { method: 'HEAD', path })]
      expect([head.status, head.text]).toEqual([200, ''])
      for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary'])
        expect(head.headers.get(name)).toBe(get.headers.get(name))
    })

    test('is not cacheable by others when requested with credentials', async () => {
      const answer = await send(auth.url, { path, headers: { authorization: `Bearer ${CANARY}` } })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
    })

    test('may be read by any site, without credentials', async () => {
      const { headers } = await send(auth.url, { path, headers: { origin: 'https://reader.example' } })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id')
    })

    test('has the same bytes whatever headers the request has', async () => {
      const { text } = await send(auth.url, { path })
      const headers = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'http',
        'x-forwarded-prefix': '/evil',
        forwarded: 'host=evil.example;proto=http',
        'x-original-url': '/evil',
        'accept-language': 'de',
        accept: 'text/html',
      }
      expect((await send(auth.url, { path, headers })).text).toBe(text)
    })
  },
)

test('forbids scripts of other sites to read the response to a POST', async () => {
  const token = await getToken(auth, agent)
  for (const origin of ['https://evil.example', 'null', 'https://plainpath.example.evil.example'])
    for (const path of ['/oauth/token', '/oauth/revoke', '/api/agent/register']) {
      const body = new URLSearchParams({ ...GRANT, token })
      const { headers } = await send(auth.url, {
        method: 'POST',
        path,
        headers: { origin, ...asAgent(agent) },
        body,
      })
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      const preflight = await send(auth.url, {
        method: 'OPTIONS',
        path,
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      })
      expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
})

import { ANONYMOUS_SCOPES, Scope } from '@plainpath/domain'
import {
  APP_GRANT_TYPES,
  createAuthorizationServerMetadata,
  createServiceUrls,
  JWT_BEARER_GRANT_TYPE,
} from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { addVerification, getAssertion } from './add-verification.ts'
import {
  agentAuthHeader,
  CLIENT_CREDENTIALS_GRANT,
  getToken,
  type RegisteredAgent,
  register,
} from './agent-client.ts'
import { CANARY, type ErrorFormat, expectProblem, expectSafe } from './expect-refusal.ts'
import { createAssertionFields, generateTestKeyPair, registerKeys, signAssertion } from './key-agent.ts'
import { formatRawRequest, send, sendRaw } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
let agent: RegisteredAgent
beforeAll(async () => {
  auth = await startAuth()
  agent = await register(auth)
})
afterAll(() => auth[Symbol.asyncDispose]())

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** The methods of each public path. Paths and methods are sorted, because tests compare them with sorted lists. */
const PUBLIC_METHODS: Record<string, string[]> = {
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
/** The methods of each path of the internal listener. */
const INTERNAL_METHODS: Record<string, string[]> = {
  '/oauth/introspect': ['POST'],
  '/oauth/jwks.json': ['GET', 'HEAD'],
}
/** Paths that oidc-provider serves by default, and paths that are similar to ours. */
const UNSERVED_PATHS = [
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
  '/session/end',
  '/session/end/confirm',
  '/backchannel',
  '/interaction/x',
  '/challenge',
  '/credential',
  '/.well-known/openid-configuration',
  '/.well-known/openid-credential-issuer',
  '/.well-known/jwks.json',
  '/.well-known/oauth-authorization-server/',
  '/.well-known/oauth-authorization-server/api',
  '/.well-known/oauth-protected-resource',
  '/oauth',
  '/oauth/',
  '/oauth/reg',
  '/oauth/auth',
  '/oauth/Token',
  '/oauth/TOKEN',
  '/Oauth/token',
  '/oauth/token/',
  '/oauth//token',
  '//oauth/token',
  '/oauth/token.json',
  '/oauth/token;x=1',
  '/oauth/%74oken',
  '/oauth%2ftoken',
  '/oauth/token%2f',
  '/oauth/token%00',
  '/oauth/jwks',
  '/oauth/jwks.json/',
  '/oauth/Revoke',
  '/oauth/revoke/',
  '/oauth/Introspect',
  '/oauth/introspect/',
  '/api',
  '/api/',
  '/api/agent/',
  '/api/Agent',
  '/api/agents',
  '/api/agent/x',
  '/api/agent/register/',
  '/api/agent/Register',
  '/api/agent/secrets/',
  '/api/agent/secrets/x/y',
  '/api/agent/%72egister',
  '/agent/register',
  '/live',
  '/ready',
  '/metrics',
  '/favicon.ico',
  '/__proto__',
  '/constructor',
  '/oauth/__proto__',
]

describe.for([
  ['public', PUBLIC_METHODS, () => auth.url],
  ['internal', INTERNAL_METHODS, () => auth.internalUrl],
] satisfies [string, Record<string, string[]>, () => string][])(
  'the %s listener',
  ([_name, methodsByPath, getUrl]) => {
    test.for(Object.entries(methodsByPath))(
      'serves %s with exactly its methods',
      async ([path, allowedMethods]) => {
        for (const method of METHODS) {
          const { status, headers } = await send(getUrl(), { method, path, headers: { accept: 'text/html' } })
          // A served path may respond 404 with a page, which says that the link does not work.
          const isNotFound = status === 404 && !headers.get('content-type')?.startsWith('text/html')
          expect([method, status === 405 || isNotFound]).toEqual([method, !allowedMethods.includes(method)])
          if (status === 405) expect(headers.get('allow')?.split(', ').sort()).toEqual(allowedMethods)
        }
      },
    )

    test('responds 404 to GET and POST at other paths', async () => {
      const otherPaths = [
        ...new Set([...UNSERVED_PATHS, ...Object.keys({ ...PUBLIC_METHODS, ...INTERNAL_METHODS })]),
      ]
      const unexpected: string[] = []
      for (const path of otherPaths.filter((each) => !Object.hasOwn(methodsByPath, each)))
        for (const method of ['GET', 'POST']) {
          const [response] = await sendRaw(
            getUrl(),
            formatRawRequest(`${method} ${path}`, ['Content-Length: 0']),
          )
          if (response?.status !== 404) unexpected.push(`${method} ${path} ${response?.status}`)
          else
            expectProblem(response, { status: 404, code: 'not-found', errorFormat: chooseErrorFormat(path) })
        }
      expect(unexpected).toEqual([])
    })
  },
)

function chooseErrorFormat(path: string): ErrorFormat {
  if (path.startsWith('/oauth/') && !path.startsWith('/oauth/authorize')) return 'oauth'
  return path.startsWith('/api/agent') ? 'agent' : 'problem'
}

test('the operations listener serves /live, /ready and /metrics, without tokens, secrets or client ids', async () => {
  await getToken(auth, agent)
  const responses = await Promise.all(
    ['/live', '/ready', '/metrics', '/', '/oauth/token'].map((path) => send(auth.operationsUrl, { path })),
  )
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 404, 404])
  const [, readiness, metrics] = responses.map(({ text }) => text)
  expect(JSON.parse(readiness ?? '')).toMatchObject({ status: 'ready', checks: { database: 'ok' } })
  for (const secret of auth.confidential) expect(metrics).not.toContain(secret)
  expect(metrics).toContain('route="/oauth/token"')
  expect(metrics).toMatch(/^tokens_issued_total\{scope="guides:read",service="auth"\} [1-9]/m)
  expect(metrics).toContain('database_pool{state="max",service="auth"} 12')
  expect(metrics).toContain('database_shed_total{service="auth"} 0')
  expect(metrics).not.toContain(agent.client_id)
})

describe('/.well-known/oauth-authorization-server', () => {
  /** Checks that the served document is that of `@plainpath/metadata`. Returns the response and that document. */
  const readMetadata = async () => {
    const response = await send(auth.url, { path: '/.well-known/oauth-authorization-server' })
    const document = createAuthorizationServerMetadata(createServiceUrls('https://plainpath.example'))
    expect(JSON.parse(response.text)).toEqual(document)
    return { response, document }
  }
  const toPath = (url: string) => new URL(url).pathname

  test('names the configured issuer', async () => {
    const { response, document } = await readMetadata()
    expect(document.issuer).toBe('https://plainpath.example')
    expect(document.protected_resources).toEqual([
      'https://plainpath.example/api',
      'https://plainpath.example/api/mcp',
      'https://plainpath.example/mcp',
    ])
    expect(response.headers.get('content-type')).toMatch(/^application\/json(; charset=utf-8)?$/)
    await expectSafe(auth, response)
  })

  test('names public routes only, and other documents name the rest of them', async () => {
    const { document } = await readMetadata()
    const namedUrls = [
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
    expect(namedUrls.every((url) => url.startsWith('https://plainpath.example/'))).toBe(true)
    // The other routes are named by auth.md and the documents that it links, by RFC 8414, and by mails.
    const otherPaths = [
      ...Object.keys(PUBLIC_METHODS).filter((path) => path.startsWith('/auth/')),
      '/api/agent',
      '/api/agent/assertion',
      '/api/agent/jwks',
      '/claim',
      ...Object.keys(PUBLIC_METHODS).filter((path) => path.startsWith('/api/agent/secrets')),
      '/.well-known/oauth-authorization-server',
      // The sign-in pages redirect there.
      '/oauth/authorize/an-interaction',
    ]
    expect([...namedUrls.map(toPath), ...otherPaths].sort()).toEqual(Object.keys(PUBLIC_METHODS))
  })

  test('lists only grants, scopes and authentication methods that work', async () => {
    const { document } = await readMetadata()
    const post = (headers: Record<string, string>, fields: Record<string, string>) =>
      send(auth.url, {
        method: 'POST',
        path: toPath(document.token_endpoint),
        headers,
        body: new URLSearchParams(fields),
      })
    const { client_id, client_secret } = agent
    const credentialsByMethod: Record<string, [Record<string, string>, Record<string, string>]> = {
      client_secret_basic: [agentAuthHeader(agent), {}],
      client_secret_post: [{}, { client_id, client_secret }],
    }
    // Apps use `none`, and other grants. These are tested in `app-connections.test.ts`.
    const methods = [...Object.keys(credentialsByMethod), 'none', 'private_key_jwt']
    expect(document.revocation_endpoint_auth_methods_supported.toSorted()).toEqual(methods)
    expect(document.token_endpoint_auth_methods_supported.toSorted()).toEqual(methods)
    const algorithms = document.token_endpoint_auth_signing_alg_values_supported
    expect(document.revocation_endpoint_auth_signing_alg_values_supported).toEqual(algorithms)
    const signers = await Promise.all(
      algorithms.map(async (each) => registerKeys(auth, await generateTestKeyPair(each))),
    )
    await addVerification(auth, agent)
    const assertion = await getAssertion(auth, agent)
    const grants: Record<string, { scopes: readonly string[]; extraFields: Record<string, string> }> = {
      client_credentials: { scopes: ANONYMOUS_SCOPES, extraFields: {} },
      [JWT_BEARER_GRANT_TYPE]: { scopes: Scope.options, extraFields: { assertion } },
    }
    expect([...APP_GRANT_TYPES, ...Object.keys(grants)]).toEqual(document.grant_types_supported)
    expect(document.scopes_supported).toEqual([...Scope.options, 'offline_access'])
    const requestGrant = async (
      [headers, credentialFields]: readonly [Record<string, string>, Record<string, string>],
      fields: Record<string, string>,
    ) => JSON.parse((await post(headers, { ...credentialFields, ...fields })).text) as unknown
    for (const [grant_type, { scopes, extraFields }] of Object.entries(grants))
      for (const scope of scopes)
        for (const credentials of Object.values(credentialsByMethod))
          expect(await requestGrant(credentials, { grant_type, scope, ...extraFields })).toMatchObject({
            scope,
            token_type: 'Bearer',
          })
    for (const signer of signers) {
      const fields = {
        ...createAssertionFields(await signAssertion(auth, signer)),
        grant_type: 'client_credentials',
      }
      expect(await requestGrant([{}, fields], {})).toMatchObject({ scope: ANONYMOUS_SCOPES.join(' ') })
    }
  })
})

describe('/oauth/jwks.json', () => {
  test('has exactly the public ES256 key, on both listeners', async () => {
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
    const internal = await send(auth.internalUrl, { path: '/oauth/jwks.json' })
    expect(JSON.parse(internal.text)).toMatchObject({ keys })
  })
})

describe.for(['/.well-known/oauth-authorization-server', '/oauth/jwks.json', '/auth.md', '/auth/keys.md'])(
  '%s',
  (path) => {
    test('can be cached for five minutes, and be revalidated', async () => {
      const response = await send(auth.url, { path })
      expect(response.status).toBe(200)
      expect(response.headers.get('cache-control')).toBe('public, max-age=300')
      expect(response.headers.get('vary')?.split(', ').sort()).toEqual([
        'Accept',
        'Accept-Encoding',
        'Authorization',
      ])
      const etag = response.headers.get('etag') ?? ''
      expect(etag).toMatch(/^"[A-Za-z0-9_-]{22}(-gz)?"$/)
      // To a request with If-None-Match, `fetch` would add a header that asks caches not to use a stored copy.
      const condition = ['Accept-Encoding: gzip, deflate', `If-None-Match: ${etag}`]
      const [revalidated] = await sendRaw(auth.url, formatRawRequest(`GET ${path}`, condition))
      expect([revalidated?.status, revalidated?.text]).toEqual([304, ''])
      await expectSafe(auth, response)
      await expectSafe(auth, revalidated!)
    })

    test('has the same headers for HEAD as for GET', async () => {
      const [get, head] = [await send(auth.url, { path }), await send(auth.url, { method: 'HEAD', path })]
      expect([head.status, head.text]).toEqual([200, ''])
      for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary'])
        expect(head.headers.get(name)).toBe(get.headers.get(name))
    })

    test('must not be cached when it is requested with credentials', async () => {
      const response = await send(auth.url, { path, headers: { authorization: `Bearer ${CANARY}` } })
      expect(response.status).toBe(200)
      expect(response.headers.get('cache-control')).toBe('private, no-store')
    })

    test('can be read by scripts of any site, without credentials', async () => {
      const { headers } = await send(auth.url, { path, headers: { origin: 'https://reader.example' } })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id')
    })

    test('is not changed by forwarding headers, Accept-Language or Accept', async () => {
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

test('responses to POST requests and preflights from other sites have no CORS headers', async () => {
  const token = await getToken(auth, agent)
  for (const origin of ['https://evil.example', 'null', 'https://plainpath.example.evil.example'])
    for (const path of ['/oauth/token', '/oauth/revoke', '/api/agent/register']) {
      const body = new URLSearchParams({ ...CLIENT_CREDENTIALS_GRANT, token })
      const { headers } = await send(auth.url, {
        method: 'POST',
        path,
        headers: { origin, ...agentAuthHeader(agent) },
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

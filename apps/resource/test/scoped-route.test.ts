import {
  createApp,
  createLimiter,
  createLog,
  createMemoryLimitStore,
  defineRoute,
  mountRoutes,
  Problem,
  serve,
} from '@plainpath/http'
import { createServiceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createBearerCheck } from '../src/auth/bearer.ts'
import type { ActiveIntrospection, Introspection } from '../src/auth/introspection.ts'
import { expectProblem, sendRequest } from './send-request.ts'

const urls = createServiceUrls('https://plainpath.example')
/** How far the clock is ahead, in milliseconds: now (`current`), and from the next introspection on (`afterIntrospection`). */
const clockSkewMs = { current: 0, afterIntrospection: 0 }
const TRUE_TIME_MS = Date.parse('2026-11-20T12:00:00Z')
const now = () => new Date(TRUE_TIME_MS + clockSkewMs.current)
const clock = {
  requireSynchronised() {
    if (clockSkewMs.current > 30_000) throw new Problem('unavailable')
  },
}
const TOKEN = `ppt_${'t'.repeat(43)}`

/** What `introspect` returns until a test changes it. */
let introspection: Introspection
const createActiveIntrospection = (overrides: Partial<ActiveIntrospection> = {}): Introspection => ({
  active: true,
  clientId: 'agt_AAAAAAAAAAAAAAAAAAAAAA',
  scopes: new Set(['contact:write']),
  audience: [urls.base],
  expiresAt: new Date('2026-11-20T12:00:01Z'),
  identityType: 'verified_email',
  ...overrides,
})

const resources = new AsyncDisposableStack()
let origin: string
beforeAll(async () => {
  const log = createLog({ service: 'test', write: () => {} })
  const route = defineRoute({
    method: 'get',
    path: '/scoped',
    operationId: 'scoped',
    summary: 'A route that needs a scope',
    access: { scopes: ['contact:write'] },
    limits: {},
    responses: { 200: z.object({ caller: z.string() }) },
    handle: ({ caller }) => ({ status: 200, body: { caller: caller.clientId } }),
  })
  const app = createApp({
    log,
    origin: urls.origin,
    trustedProxies: { has: () => false },
    clock: { requireSynchronised: () => undefined },
    csp: '',
    chooseErrorFormat: () => 'problem',
  })
  const limiter = createLimiter({ store: createMemoryLimitStore(now), factor: 1, now, log })
  const introspect = async () => {
    clockSkewMs.current = clockSkewMs.afterIntrospection
    return introspection
  }
  const bearer = createBearerCheck({ introspect, urls, clock, now })
  app.use(mountRoutes([route], { limiter, authenticators: { bearer } }))
  origin = resources.use(await serve(app.callback(), { port: 0, host: '127.0.0.1', drainSeconds: 0 })).url
})
afterAll(() => resources.disposeAsync())

const requestScopedRoute = (authorization?: string) =>
  sendRequest(origin, { path: '/scoped', headers: authorization === undefined ? {} : { authorization } })
/** A parameter of every challenge. */
const METADATA_PARAMETER =
  'resource_metadata="https://plainpath.example/.well-known/oauth-protected-resource/api"'

test('a token with the scope is accepted', async () => {
  introspection = createActiveIntrospection()
  const response = await requestScopedRoute(`Bearer ${TOKEN}`)
  expect(response.json()).toEqual({ caller: 'agt_AAAAAAAAAAAAAAAAAAAAAA' })
})

test('the challenge for a request without a token names the scope and no error', async () => {
  const response = await requestScopedRoute()
  expectProblem(response, { status: 401, code: 'token-required' })
  expect(response.headers['www-authenticate']).toBe(
    `Bearer realm="plainpath", scope="contact:write", ${METADATA_PARAMETER}`,
  )
  // Only a route on which a token is optional says that it works without Authorization.
  expect(response.json()['detail']).not.toMatch(/without Authorization/)
})

test('a token without the scope is refused with 403, and the challenge names the missing scope', async () => {
  // `contact:writer` only begins like the scope.
  introspection = createActiveIntrospection({ scopes: new Set(['guides:read', 'contact:writer']) })
  const response = await requestScopedRoute(`Bearer ${TOKEN}`)
  expectProblem(response, { status: 403, code: 'insufficient-scope' })
  expect(response.headers['www-authenticate']).toBe(
    `Bearer realm="plainpath", error="insufficient_scope", scope="contact:write", ${METADATA_PARAMETER}`,
  )
})

test('a token is invalid from its exp on, even if the introspection says that it is active', async () => {
  introspection = createActiveIntrospection({ expiresAt: now() })
  expectProblem(await requestScopedRoute(`Bearer ${TOKEN}`), { status: 401, code: 'invalid-token' })
})

// F-17 is a fault in e2e/faults/fault-numbers.ts: the clock of an instance is wrong.
test.for([
  ['before the request', 3_600_000],
  ['during the introspection', 0],
])('F-17 a request with a token gets 503, not 401, if the clock jumps ahead %s', async ([, skewMs]) => {
  introspection = createActiveIntrospection()
  Object.assign(clockSkewMs, { current: skewMs, afterIntrospection: 3_600_000 })
  expectProblem(await requestScopedRoute(`Bearer ${TOKEN}`), { status: 503, code: 'unavailable' })
  Object.assign(clockSkewMs, { current: 0, afterIntrospection: 0 })
  expect((await requestScopedRoute(`Bearer ${TOKEN}`)).status).toBe(200)
})

import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { expect } from 'vitest'
import { loadConfig } from '../src/config.ts'
import { openStores, type Stores } from '../src/stores.ts'
import { CLIENT_CREDENTIALS_GRANT } from './agent-client.ts'
import type { AgentDocuments, UrlAgent } from './agent-documents.ts'
import { type KeyAgent, signAssertion } from './key-agent.ts'
import type { AuthTestbed } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, type StartOptions, startInstance } from './start-auth.ts'

/** A clock that only the test moves. */
export interface Clock {
  now: Date
}

/**
 * Sets the clock to a number of seconds before `present`. Tests usually go from the past to the present, because
 * oidc-provider computes the expiry of tokens by the machine's clock.
 *
 * @param present in milliseconds since 1970; by default the time of the call. A test that needs exact intervals between several
 *   calls passes the same value to each
 */
export const setClockBack = (clock: Clock, seconds: number, present = Date.now()) => {
  clock.now = new Date(present - seconds * 1000)
}

/**
 * Starts an instance that may fetch the documents. Its origin is on loopback, because the setting for test
 * hosts requires that.
 */
export const startUrlInstance = (
  testbed: AuthTestbed,
  agentDocuments: AgentDocuments,
  clock: Clock,
  options: StartOptions = {},
): Promise<RunningAuth> =>
  startInstance(testbed, {
    origin: 'loopback',
    ...options,
    now: () => clock.now,
    documents: agentDocuments.documentOverrides,
    env: { ...agentDocuments.settings, ...options.env },
  })

const SILENT_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

/**
 * Opens the stores that the instances of a testbed share. With them, a test does what an instance or a command would do. The
 * caller disposes them.
 */
export async function openUrlStores(
  testbed: AuthTestbed,
  auth: RunningAuth,
  agentDocuments: AgentDocuments,
  clock: Clock,
): Promise<Stores> {
  const { redis } = testbed
  const settings = { ...(await testbed.createSettings(auth.origin)), ...agentDocuments.settings }
  return await openStores(loadConfig(settings), {
    log: SILENT_LOG,
    now: () => clock.now,
    // As in `startInstance`: long, because a machine that runs tests is busy.
    redisTimeoutMs: 3_000,
    ...(redis && { redisPrefix: redis.prefix, revocation: redis.revocation }),
  })
}

/** Signs an assertion that is valid for a minute by the test's clock, unless `claims` say otherwise. */
export function signAssertionByClock(
  auth: RunningAuth,
  agent: KeyAgent,
  clock: Clock,
  claims: Record<string, unknown> = {},
): Promise<string> {
  const iat = Math.floor(clock.now.getTime() / 1000)
  return signAssertion(auth, agent, { iat, exp: iat + 60, ...claims })
}

interface FormOptions {
  fields?: Record<string, string>
  /** The claims of the assertion. */
  claims?: Record<string, unknown>
  headers?: Record<string, string>
}

/** Requests a token with a fresh assertion. `options` can replace fields, claims and headers. Does not check the response. */
export const requestUrlToken = (
  auth: RunningAuth,
  agent: KeyAgent,
  clock: Clock,
  options: FormOptions = {},
): Promise<HttpResponse> =>
  postFormAsUrlClient(auth, agent, clock, {
    path: '/oauth/token',
    ...options,
    fields: { ...CLIENT_CREDENTIALS_GRANT, ...options.fields },
  })

/** Posts a form with a fresh assertion. `options` can add or replace fields, claims and headers. Does not check the response. */
export async function postFormAsUrlClient(
  auth: RunningAuth,
  agent: KeyAgent,
  clock: Clock,
  options: FormOptions & { path: string },
): Promise<HttpResponse> {
  return await send(auth.url, {
    method: 'POST',
    path: options.path,
    ...(options.headers && { headers: options.headers }),
    body: new URLSearchParams({
      client_assertion: await signAssertionByClock(auth, agent, clock, options.claims),
      client_assertion_type: CLIENT_ASSERTION_TYPE,
      ...options.fields,
    }),
  })
}

/** Gets a token with a fresh assertion, and adds it to `auth.confidential`. `expiresIn` is in seconds. */
export async function getUrlToken(
  auth: RunningAuth,
  agent: UrlAgent,
  clock: Clock,
  fields: Record<string, string> = {},
): Promise<{ token: string; expiresIn: number; scope: string }> {
  const response = await requestUrlToken(auth, agent, clock, { fields })
  expect(response.status, response.text).toBe(200)
  const body = JSON.parse(response.text) as { access_token: string; expires_in: number; scope: string }
  auth.confidential.add(body.access_token)
  return { token: body.access_token, expiresIn: body.expires_in, scope: body.scope }
}

/**
 * Sends a request to an endpoint that takes no form, with a fresh assertion in the header `Client-Assertion`. `body` is sent as
 * JSON. Does not check the response.
 */
export async function sendAsAgent(
  auth: RunningAuth,
  agent: KeyAgent,
  clock: Clock,
  request: { method: string; path: string; body?: unknown },
): Promise<HttpResponse> {
  const headers = { 'client-assertion': await signAssertionByClock(auth, agent, clock) }
  if (request.body === undefined) return await send(auth.url, { ...request, body: undefined, headers })
  return await send(auth.url, {
    ...request,
    body: JSON.stringify(request.body),
    headers: { ...headers, 'content-type': 'application/json' },
  })
}

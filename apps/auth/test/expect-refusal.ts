import { expectSafeResponse } from '@plainpath/http/testing'
import { expect } from 'vitest'
import { countRows } from './open-test-stores.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

/** The format of an error response: that of RFC 6749 (`oauth`), of RFC 9457 (`problem`), or of both (`agent`). */
export type ErrorFormat = 'oauth' | 'agent' | 'problem'

export interface Refusal {
  readonly status: number
  /** The code of the problem: the last segment of its `type` or `error_uri`. */
  readonly code: string
  /** The member `error` of RFC 6749 §5.2, by default `invalid_request`. A response in the format `problem` has none. */
  readonly error?: string
  /** The format of the response, by default `oauth`. */
  readonly errorFormat?: ErrorFormat
  /** For each header, the text that its value must contain, or the pattern that it must match. */
  readonly headers?: Readonly<Record<string, string | RegExp>>
  /** The text that `detail` or `error_description` must contain, or the pattern that it must match. */
  readonly says?: string | RegExp
}

/** The refusal of an OAuth endpoint while a store is unavailable. */
export const UNAVAILABLE: Refusal = {
  status: 503,
  code: 'unavailable',
  error: 'temporarily_unavailable',
  headers: { 'retry-after': /^[1-9][0-9]*$/ },
}

/** The refusal of credentials. */
export const INVALID_CLIENT: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }

/** The refusal of a code or refresh token. */
export const INVALID_GRANT: Refusal = { status: 400, code: 'invalid-grant', error: 'invalid_grant' }

/** A text that tests put into requests, and that no response may repeat. */
export const CANARY = 'Canary-58b1'

/** Checks that a response is safe and contains nothing confidential, and that the instance is still live. */
export async function expectSafe(auth: RunningAuth, response: HttpResponse): Promise<void> {
  expectSafeResponse(response, {
    origin: auth.origin,
    confidential: auth.confidential,
    allowedFailureStatus: response.status === 503 ? 503 : undefined,
  })
  const live = await send(auth.operationsUrl, { path: '/live' })
  expect(live.status).toBe(200)
}

/** Checks that a response is the expected refusal, and is safe. */
export function expectProblem(response: HttpResponse, expected: Refusal): void {
  const { status, code, error = 'invalid_request', errorFormat = 'oauth' } = expected
  expect(response, response.text).toMatchObject({ status })
  expectSafeResponse(response, { errorFormat, confidential: [CANARY], allowedFailureStatus: status })
  const body = JSON.parse(response.text) as Record<string, unknown>
  if (errorFormat !== 'problem') expect(body['error']).toBe(error)
  expect(body['code']).toBe(code)
  const description = String(body[errorFormat === 'oauth' ? 'error_description' : 'detail'])
  // RFC 6749 section 5.2 allows no quotes and no backslash.
  expect(description).toMatch(
    errorFormat === 'oauth' ? /^[\x20-\x21\x23-\x5b\x5d-\x7e]{10,300}$/ : /^\P{Cc}{10,300}$/u,
  )
  if (expected.says) expect(description).toMatch(expected.says)
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    expect(response.headers.get(name), name).toMatch(value)
  if (status === 401) expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
}

/** Checks that a request is refused as expected and within 1.5 s, and does not change the counts of `countStored`. */
export async function expectRefusal(
  auth: RunningAuth,
  request: () => Promise<HttpResponse>,
  expected: Refusal,
): Promise<HttpResponse> {
  const storedBefore = await countStored(auth)
  const response = await request()
  expectProblem(response, expected)
  await expectSafe(auth, response)
  expect(response.durationMs).toBeLessThan(1_500)
  expect(await countStored(auth)).toEqual(storedBefore)
  return response
}

/** Counts the rows of the tables that requests write to, and the tokens and proofs in Redis. */
export async function countStored(auth: RunningAuth): Promise<Record<string, number>> {
  const rows = await countRows(auth.testbed.db)
  const redisKeys = await auth.testbed.redis?.listKeys()
  if (!redisKeys) return rows
  const countKeys = (kind: string) => redisKeys.filter((key) => key.includes(`:${kind}:`)).length
  return { ...rows, redisTokens: countKeys('token'), redisProofs: countKeys('proof') }
}

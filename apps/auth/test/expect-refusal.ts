import { expectSafeResponse } from '@plainpath/http/testing'
import { expect } from 'vitest'
import { countRows } from './open-authority.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

/** The form of an error response: `oauth` is RFC 6749 alone, `agent` problem details with `error`, `problem` problem details alone. */
type Form = 'oauth' | 'agent' | 'problem'

export interface Refusal {
  readonly status: number
  /** The code of the problem: the last segment of its `type`. */
  readonly code: string
  /** `error` of RFC 6749 §5.2; by default `invalid_request`. */
  readonly error?: string
  readonly form?: Form
  readonly headers?: Readonly<Record<string, string | RegExp>>
  /** The text of `detail` or `error_description`. */
  readonly says?: string | RegExp
}

/** Tests put it into requests; no response may repeat it. */
export const CANARY = 'Canary-58b1'

/** Checks what holds after every request: a safe response with nothing confidential in it, from a process that goes on. */
export async function expectSafe(auth: RunningAuth, response: HttpResponse): Promise<void> {
  expectSafeResponse(response, {
    origin: auth.origin,
    confidential: auth.confidential,
    failure: response.status === 503 ? 503 : undefined,
  })
  const live = await send(auth.operationsUrl, { path: '/live' })
  expect(live.status).toBe(200)
}

/** Expects a response to be the given refusal. */
export function expectProblem(response: HttpResponse, expected: Refusal): void {
  const { status, code, error = 'invalid_request', form = 'oauth' } = expected
  expect(response, response.text).toMatchObject({ status })
  expectSafeResponse(response, { form, confidential: [CANARY], failure: status })
  const body = JSON.parse(response.text) as Record<string, unknown>
  if (form !== 'problem') expect(body['error']).toBe(error)
  expect(body['code']).toBe(code)
  const description = String(body[form === 'oauth' ? 'error_description' : 'detail'])
  // RFC 6749 section 5.2 allows no quotes and no backslash.
  expect(description).toMatch(
    form === 'oauth' ? /^[\x20-\x21\x23-\x5b\x5d-\x7e]{10,300}$/ : /^\P{Cc}{10,300}$/u,
  )
  if (expected.says) expect(description).toMatch(expected.says)
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    expect(response.headers.get(name), name).toMatch(value)
  if (status === 401) expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
}

/** Sends a request that must be refused: the response is as expected and safe, it arrives soon, and nothing was stored. */
export async function expectRefusal(
  auth: RunningAuth,
  request: () => Promise<HttpResponse>,
  expected: Refusal,
): Promise<HttpResponse> {
  const before = await countStored(auth)
  const response = await request()
  expectProblem(response, expected)
  await expectSafe(auth, response)
  expect(response.ms).toBeLessThan(1_500)
  expect(await countStored(auth)).toEqual(before)
  return response
}

/** Counts the rows of each table and the keys in Redis. */
export async function countStored(auth: RunningAuth): Promise<Record<string, number>> {
  const rows = await countRows(auth.stores.db)
  const inRedis = await auth.stores.redis?.keys()
  if (!inRedis) return rows
  const count = (kind: string) => inRedis.filter((key) => key.includes(`:${kind}:`)).length
  return { ...rows, redisTokens: count('token'), redisProofs: count('proof') }
}

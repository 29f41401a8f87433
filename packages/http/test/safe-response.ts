import { expect } from 'vitest'
import type { ErrorFormat } from '../src/problems/handle-errors.ts'
import { getProblemKind, PROBLEM_CODES, type ProblemCode } from '../src/problems/problems.ts'

/** The response to check, from any client. */
interface ResponseFacts {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface SafetyOptions {
  /** The public origin of the service; by default the origin in the problem's own URLs. */
  readonly origin?: string
  /** The format that an error response must have; by default any format. */
  readonly errorFormat?: ErrorFormat
  /** Tokens, secrets, names and canaries that no response may contain. */
  readonly confidential?: Iterable<string>
  /** The only 5xx status that the response may have, while a store or a peer is unavailable or broken. By default, none. */
  readonly allowedFailureStatus?: number | undefined
}

/** Matches markup and text that reveals internals, such as stack frames, SQL and the names of our libraries. */
const INTERNALS =
  /<\/?[a-z!]|\bat .*:\d+:\d+|node_modules|\/apps\/|\.ts\b|\bselect \b|\binsert into\b|ECONN|\bSQL|postgres|redis|oidc|koa|undefined|\[object/i

/** The members that every error response of a format has, sorted. Only the response to an unreadable request has no `instance`. */
const MEMBERS: Readonly<Record<'oauth' | 'agent' | 'problem', readonly string[]>> = {
  oauth: ['code', 'error', 'error_description', 'error_uri'],
  agent: [
    'code',
    'detail',
    'error',
    'error_description',
    'instance',
    'request_id',
    'status',
    'title',
    'type',
  ],
  problem: ['code', 'detail', 'instance', 'request_id', 'status', 'title', 'type'],
}

/** Members that some problems add to an error response. */
const OPTIONAL_MEMBERS = new Set(['errors', 'policy', 'successor', 'first', 'attempts_remaining'])

/**
 * Expects the properties that every response must have, whatever the request: security headers, a request id, no confidential
 * text, no 5xx status that is not allowed, and, in an error response, the members and headers of its format.
 */
export function expectSafeResponse(response: ResponseFacts, options: SafetyOptions): void {
  const { status, headers, text } = response
  if (status >= 500) expect(status, text.slice(0, 500)).toBe(options.allowedFailureStatus)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  const origin = options.origin ?? /"https?:\/\/[^/"]+(?=\/problems\/)/.exec(text)?.[0].slice(1)
  if (origin !== undefined)
    expect(headers.get('strict-transport-security')).toBe(
      origin.startsWith('https:') ? 'max-age=63072000; includeSubDomains' : null,
    )
  expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,64}$/)
  for (const name of ['server', 'x-powered-by', 'set-cookie', 'access-control-allow-credentials'])
    expect(headers.get(name), name).toBeNull()
  for (const secret of options.confidential ?? [])
    if (text.includes(secret) || [...headers.values()].some((value) => value.includes(secret)))
      expect.unreachable(`the response contains confidential text: ${secret.slice(0, 12)}…`)
  if (status >= 400) expectSafeError(response, options.errorFormat)
}

function detectFormat(body: Readonly<Record<string, unknown>>): keyof typeof MEMBERS {
  if ('error_uri' in body) return 'oauth'
  return 'error' in body ? 'agent' : 'problem'
}

function expectSafeError(
  { status, headers, text }: ResponseFacts,
  expectedFormat: ErrorFormat | undefined,
): void {
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('etag')).toBeNull()
  if (status === 401) expect(headers.get('www-authenticate')).toMatch(/^(Basic|Bearer|DPoP) realm="/)
  if (status === 405) expect(headers.get('allow')).toMatch(/^[A-Z]+(, [A-Z]+)*$/)
  if (status === 429 || status === 503) expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  // A response to HEAD has no body.
  if (text === '') return
  const type = headers.get('content-type')?.split(';')[0]
  if (expectedFormat === 'page' && type === 'text/html') return
  const body = JSON.parse(text) as Record<string, unknown>
  // The path has only the characters of RFC 3986, which cannot inject anything into a page or a log.
  if ('instance' in body) expect(body['instance']).toMatch(/^\/(?:[\w~.\-!$&'()*+,;=:@/]|%[0-9A-F]{2})*$/i)
  expect(JSON.stringify({ ...body, instance: '' })).not.toMatch(INTERNALS)
  const format = detectFormat(body)
  // A request that is refused before any handler has no instance. Its response always has the same format.
  const isUnreadable = format === 'agent' && !('instance' in body)
  if (expectedFormat !== undefined && !isUnreadable)
    expect(format).toBe(expectedFormat === 'page' ? 'problem' : expectedFormat)
  expect(type).toBe(format === 'oauth' ? 'application/json' : 'application/problem+json')
  const expectedMembers = MEMBERS[format].filter((name) => name !== 'instance' || !isUnreadable)
  const members = Object.keys(body).filter((name) => !OPTIONAL_MEMBERS.has(name))
  expect(members.sort()).toEqual(expectedMembers)
  const { code } = body
  if (format === 'oauth') expect(String(body['error_uri']).split('/problems/').at(-1)).toBe(code)
  expect(PROBLEM_CODES).toContain(code)
  expect(getProblemKind(code as ProblemCode).status).toBe(status)
  if (format !== 'problem')
    expect(body['error']).toBe(getProblemKind(code as ProblemCode).oauth ?? 'invalid_request')
  // RFC 6749 section 5.2 allows neither quotes nor a backslash.
  if (format !== 'problem')
    expect(body['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]{10,1000}$/)
  if (format !== 'oauth')
    expect(body).toMatchObject({ status, code, detail: expect.stringMatching(/^\P{Cc}{10,1000}$/u) })
  if (format !== 'oauth') expect(body['request_id']).toBe(headers.get('x-request-id'))
}

import { expect, test } from 'vitest'
import type { HttpResponse } from './http-client.ts'
import { type ErrorFormat, findRefusalMistake } from './refusal.ts'

const PROBLEM_BODY = { type: 'http://localhost/problems/unavailable', status: 503, code: 'unavailable' }
const OAUTH_BODY = { error: 'temporarily_unavailable', error_description: 'Try again.' }

/** Creates a correct 503, and then replaces the given headers and body members. An empty value removes the header. */
function createRefusal(
  format: ErrorFormat,
  headers: Record<string, string> = {},
  bodyMembers: object = {},
): HttpResponse {
  const type = format === 'oauth' ? 'application/json' : 'application/problem+json'
  const allHeaders: Record<string, string> = {
    'retry-after': '2',
    'cache-control': 'no-store',
    'content-type': `${type}; charset=utf-8`,
    ...headers,
  }
  const correctBody = { problem: PROBLEM_BODY, agent: { ...PROBLEM_BODY, ...OAUTH_BODY }, oauth: OAUTH_BODY }[
    format
  ]
  const text = JSON.stringify({ ...correctBody, ...bodyMembers })
  return { status: 503, text, startedAt: 0, endedAt: 1, header: (name) => allHeaders[name] || undefined }
}

test.for<ErrorFormat>(['problem', 'agent', 'oauth'])('accepts a correct 503 in the format %s', (format) => {
  expect(findRefusalMistake(createRefusal(format), format)).toBeUndefined()
})

test.for<[description: string, expected: string, response: HttpResponse, format: ErrorFormat]>([
  [
    'without Retry-After',
    '503 without Retry-After in seconds',
    createRefusal('problem', { 'retry-after': '' }),
    'problem',
  ],
  [
    'with a fractional Retry-After',
    '503 without Retry-After in seconds',
    createRefusal('problem', { 'retry-after': '1.5' }),
    'problem',
  ],
  [
    'with Retry-After: 0',
    '503 without Retry-After in seconds',
    createRefusal('problem', { 'retry-after': '0' }),
    'problem',
  ],
  [
    'that may be cached',
    '503 that may be stored',
    createRefusal('oauth', { 'cache-control': 'public' }),
    'oauth',
  ],
  [
    'with WWW-Authenticate',
    '503 with a challenge',
    createRefusal('problem', { 'www-authenticate': 'Bearer' }),
    'problem',
  ],
  [
    'with problem details from an OAuth endpoint',
    '503 as application/problem+json',
    createRefusal('agent'),
    'oauth',
  ],
  ['with HTML', '503 as text/html', createRefusal('problem', { 'content-type': 'text/html' }), 'problem'],
  [
    'with another problem code',
    '503 with another problem',
    createRefusal('problem', {}, { code: 'internal-error' }),
    'problem',
  ],
  [
    'with another status in the problem',
    '503 with another problem',
    createRefusal('problem', {}, { status: 500 }),
    'problem',
  ],
  [
    'with another OAuth error',
    '503 with another error',
    createRefusal('oauth', {}, { error: 'invalid_client' }),
    'oauth',
  ],
  [
    'without OAuth members from an agent endpoint',
    '503 with another error',
    createRefusal('problem'),
    'agent',
  ],
  [
    'with a description that is no text',
    '503 without description',
    createRefusal('oauth', {}, { error_description: 1 }),
    'oauth',
  ],
])('reports a 503 %s', ([_description, expected, response, format]) => {
  expect(findRefusalMistake(response, format)).toBe(expected)
})

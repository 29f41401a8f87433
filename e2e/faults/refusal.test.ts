import { expect, test } from 'vitest'
import type { HttpResponse } from './http-client.ts'
import { type RefusalForm, wrongRefusal } from './refusal.ts'

const PROBLEM = { type: 'http://localhost/problems/unavailable', status: 503, code: 'unavailable' }
const OAUTH = { error: 'temporarily_unavailable', error_description: 'Try again.' }

function refusal(form: RefusalForm, headers: Record<string, string> = {}, body: object = {}): HttpResponse {
  const type = form === 'oauth' ? 'application/json' : 'application/problem+json'
  const known: Record<string, string> = {
    'retry-after': '2',
    'cache-control': 'no-store',
    'content-type': `${type}; charset=utf-8`,
    ...headers,
  }
  const right = { problem: PROBLEM, agent: { ...PROBLEM, ...OAUTH }, oauth: OAUTH }[form]
  const text = JSON.stringify({ ...right, ...body })
  return { status: 503, text, startedAt: 0, endedAt: 1, header: (name) => known[name] || undefined }
}

test.for<RefusalForm>(['problem', 'agent', 'oauth'])('a 503 as decided, %s, is right', (form) => {
  expect(wrongRefusal(refusal(form), form)).toBeUndefined()
})

test.for<[string, HttpResponse, RefusalForm]>([
  ['503 without Retry-After in seconds', refusal('problem', { 'retry-after': '' }), 'problem'],
  ['503 without Retry-After in seconds', refusal('problem', { 'retry-after': '1.5' }), 'problem'],
  ['503 without Retry-After in seconds', refusal('problem', { 'retry-after': '0' }), 'problem'],
  ['503 that may be stored', refusal('oauth', { 'cache-control': 'public' }), 'oauth'],
  ['503 with a challenge', refusal('problem', { 'www-authenticate': 'Bearer' }), 'problem'],
  ['503 as application/problem+json', refusal('agent'), 'oauth'],
  ['503 as text/html', refusal('problem', { 'content-type': 'text/html' }), 'problem'],
  ['503 with another problem', refusal('problem', {}, { code: 'internal-error' }), 'problem'],
  ['503 with another problem', refusal('problem', {}, { status: 500 }), 'problem'],
  ['503 with another error', refusal('oauth', {}, { error: 'invalid_client' }), 'oauth'],
  ['503 with another error', refusal('problem'), 'agent'],
  ['503 without description', refusal('oauth', {}, { error_description: 1 }), 'oauth'],
])('%s', ([found, response, form]) => {
  expect(wrongRefusal(response, form)).toBe(found)
})

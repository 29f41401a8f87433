import { Problem } from '@plainpath/http'
import type { Context } from 'koa'
import { expect, test } from 'vitest'
import { throwProviderFailure } from './provider-answer.ts'

/** What the library leaves behind, in as far as it is looked at. */
const answered = (status: number, body: unknown, thrown?: unknown) =>
  ({ status, body, state: { ...(thrown !== undefined && { thrown }) } }) as unknown as Context

function failure(status: number, body: unknown): Problem {
  try {
    throwProviderFailure(answered(status, body))
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('N-027 a grant that the server knows and the client may not use is unauthorized_client', () => {
  const body = {
    error: 'invalid_request',
    error_description: 'requested grant type is not allowed for this client',
  }
  expect(failure(400, body).code).toBe('unauthorized-client')
})

test.for([
  ['invalid_client', 'invalid-client'],
  ['invalid_grant', 'invalid-grant'],
  ['invalid_scope', 'invalid-scope'],
  ['invalid_target', 'invalid-target'],
  ['unsupported_grant_type', 'unsupported-grant-type'],
  ['server_error', 'internal-error'],
  ['temporarily_unavailable', 'unavailable'],
  ['a code of tomorrow', 'invalid-request'],
])('%s of the library is %s', ([error, code]) => {
  expect(failure(400, { error }).code).toBe(code)
})

test('what is no OAuth error is not passed on', () => {
  expect(failure(404, '<html>').code).toBe('not-found')
  expect(failure(500, { stack: 'at lib/x.js:1:1' }).code).toBe('invalid-request')
})

test('N-182 what was thrown inside the library is thrown on as it was, and a success is left alone', () => {
  const surprise = new Error('connect ECONNREFUSED')
  expect(() => throwProviderFailure(answered(500, { error: 'server_error' }, surprise))).toThrow(surprise)
  expect(() => throwProviderFailure(answered(200, { access_token: 'x' }))).not.toThrow()
})

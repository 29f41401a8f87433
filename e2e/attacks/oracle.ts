import { form } from '../send.ts'
import type { FormFields, Target } from './target.ts'

/*
 * A test oracle: computes the expected outcome of a request from the operation's schema, the standards and the service's limits.
 */

/** The service's limits for a request body, and the member names that it refuses. */
const MAX_DEPTH = 16
const MAX_BYTES = 64 * 1024
const UNSAFE_NAMES = ['__proto__', 'constructor', 'prototype']

/** Whether a request must be accepted, or the status with which it must be refused. */
export type Verdict = 'accepted' | 400 | 413

/** Computes the verdict for a JSON body from the schema of the operation and the limits of the service. */
export function judgeJson(target: Target, text: string): Verdict {
  if (Buffer.byteLength(text) > MAX_BYTES) return 413
  if (text === '') return 'accepted'
  const value = JSON.parse(text) as unknown
  if (!isStorable(value, 1)) return 400
  const parsed = target.operation.request?.body?.safeParse(value)
  if (!parsed?.success) return 400
  const { type, proof } = value as { type?: unknown; proof?: unknown }
  // A schema cannot verify that a proof was made with one of these keys.
  if (target.operation.operationId === 'replaceAgentKeys' && proof !== undefined && proof !== null) return 400
  // The schema permits any type, but only anonymous registration is offered.
  const isOfferedType = target.operation.operationId !== 'registerAgent' || !type || type === 'anonymous'
  return isOfferedType ? 'accepted' : 400
}

/** Returns whether the service accepts the numbers, strings, member names and depth of a JSON value. */
function isStorable(value: unknown, depth: number): boolean {
  if (typeof value === 'number')
    return (
      Number.isFinite(value) &&
      !Object.is(value, -0) &&
      (!Number.isInteger(value) || Number.isSafeInteger(value))
    )
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return (
    depth <= MAX_DEPTH &&
    Object.entries(value).every(
      ([name, member]) =>
        isStorable(name, depth) && !UNSAFE_NAMES.includes(name) && isStorable(member, depth + 1),
    )
  )
}

/** The service's limit for the number of fields in a form. */
const MAX_FIELDS = 32

/**
 * Computes the verdict for a form from a client with valid credentials.
 *
 * @param validValues the only values of `client_id` and `resource` that a valid form may contain
 */
export function judgeForm(
  target: Target,
  fields: FormFields,
  validValues: { clientId: string; resource: string },
): Verdict {
  if (Buffer.byteLength(form(fields).body) > MAX_BYTES) return 413
  if (fields.length > MAX_FIELDS) return 400
  const getValues = (name: string) => fields.filter(([sent]) => sent === name).map(([, value]) => value)
  if (target.operation.operationId === 'introspect')
    return getValues('token').length === 1 && getValues('token')[0] !== '' ? 'accepted' : 400
  // A parameter may occur only once (RFC 6749 §3.2), except `resource` (RFC 8707 §2).
  const names = fields.map(([name]) => name).filter((name) => name !== 'resource')
  if (new Set(names).size < names.length) return 400
  // The client already authenticates with Basic, and must use only one method (RFC 6749 §2.3).
  if (
    getValues('client_id').some((id) => id && id !== validValues.clientId) ||
    ['client_secret', 'client_assertion', 'client_assertion_type'].some((name) =>
      getValues(name).some(Boolean),
    )
  )
    return 400
  if (target.operation.operationId === 'revokeToken')
    return getValues('token').some(Boolean) ? 'accepted' : 400
  if (getValues('grant_type')[0] !== 'client_credentials') return 400
  const [resource, secondResource] = getValues('resource')
  if (secondResource !== undefined || (resource && resource !== validValues.resource)) return 400
  return isScopeAccepted(getValues('scope')[0] ?? '') ? 'accepted' : 400
}

/** Returns whether a scope is accepted (RFC 6749 §3.3): it must be well-formed, and contain a permitted scope or be blank. */
function isScopeAccepted(scope: string): boolean {
  if (scope.trim() === '') return true
  const isWellFormed = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(scope)
  return isWellFormed && scope.split(' ').some((each) => each === 'guides:read' || each === 'waitlist:write')
}

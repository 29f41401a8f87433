import type { z } from 'zod'
import { type InputMistake, Problem } from './problem.ts'
import type { ProblemCode } from './problems.ts'

export type InputPlace = 'body' | 'query' | 'params'

/**
 * Parses one part of a request, reporting all its mistakes at once.
 *
 * @throws {Problem} with `errors`; a bad path parameter is `not-found`, since such an address does not exist
 */
export function parseInput(
  schema: z.ZodType,
  place: InputPlace,
  data: unknown,
  code: ProblemCode = 'invalid-request',
): unknown {
  const parsed = schema.safeParse(data)
  if (parsed.success) return parsed.data
  if (place === 'params') throw new Problem('not-found')
  const errors = parsed.error.issues.flatMap((issue) => mistakes(place, issue))
  const first = errors[0]
  const more = errors.length > 1 ? ` There are ${errors.length - 1} more mistakes in errors.` : ''
  throw new Problem(code, {
    detail: first ? `${first.pointer}: ${first.detail}.${more}` : undefined,
    errors,
  } as never)
}

function mistakes(place: InputPlace, issue: z.core.$ZodIssue): InputMistake[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: pointer(place, [...issue.path, key]),
      detail: 'is not a member we know; leave it out',
    }))
  }
  return [{ pointer: pointer(place, issue.path), detail: plain(issue) }]
}

/** JSON pointer as a fragment (RFC 6901 §6), or the name of a query parameter. Names are cut at 60 characters. */
function pointer(place: InputPlace, path: readonly PropertyKey[]): string {
  const steps = path.map((step) => String(step).slice(0, 60))
  if (place === 'query') return `?${steps.join('.')}`
  return `#${steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`
}

function plain(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    return issue.input === undefined || issue.message.endsWith('received undefined')
      ? `is missing; it must be a ${issue.expected}`
      : `must be a ${issue.expected}`
  }
  return issue.message
}

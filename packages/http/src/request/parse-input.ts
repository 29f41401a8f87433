import type { z } from 'zod'
import { type InputMistake, Problem } from '../problems/problem.ts'
import type { ProblemCode } from '../problems/problems.ts'

type InputPlace = 'body' | 'query' | 'params'

/** Beyond these, mistakes are counted and not listed, so that a small body cannot ask for a large answer. */
const MAX_LISTED = 50

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
  const parsed = schema.safeParse(data, { reportInput: true })
  if (parsed.success) return parsed.data
  if (place === 'params') throw new Problem('not-found')
  throw refused(
    code,
    parsed.error.issues.flatMap((issue) => mistakes(place, issue)),
  )
}

function refused(code: ProblemCode, all: readonly InputMistake[]): Problem {
  const errors = all.slice(0, MAX_LISTED)
  const [first] = errors
  if (!first) return new Problem(code)
  const others = all.length - 1
  const more =
    others === 0 ? '' : others === 1 ? ' There is 1 more mistake.' : ` There are ${others} more mistakes.`
  return new Problem(code, { detail: `${first.pointer}: ${first.detail}.${more}`, errors })
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
  const steps = path.map((step) => String(step).slice(0, 60).toWellFormed())
  if (place === 'query') return `?${steps.map(encodeURIComponent).join('.')}`
  return `#${steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')}`
}

function plain(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message
  const wanted = `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
  return issue.input === undefined ? `is missing; it ${wanted}` : wanted
}

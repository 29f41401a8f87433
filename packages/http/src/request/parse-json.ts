/** Why a text is refused, in words for the person who sent it. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

const MAX_DEPTH = 16
/** Members that change what an object is, once somebody copies or merges it. */
const UNSAFE_NAMES = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * JSON as I-JSON has it (RFC 7493): one value, no member twice, no lone surrogate, no number that a double does
 * not hold exactly. Moreover no NUL, no minus zero, no `__proto__`, `constructor` or `prototype`, and at most 16
 * levels. `JSON.parse` alone lets all of these through.
 *
 * @throws {JsonError} never quoting the text
 */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new JsonError('The body is not JSON.')
  }
  requireShallowAndUnique(text)
  requireStorable(value)
  return value
}

/** The strings and the structural characters of a valid JSON text, in order. On an invalid one it can be slow. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gu

function requireShallowAndUnique(text: string): void {
  const open: (Set<string> | undefined)[] = []
  let previous = ''
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':') {
      const name = JSON.parse(previous) as string
      if (open.at(-1)?.has(name)) throw new JsonError('A member is named twice.')
      open.at(-1)?.add(name)
    }
    if (open.length > MAX_DEPTH) throw new JsonError(`The body is nested deeper than ${MAX_DEPTH} levels.`)
    previous = token
  }
}

function requireStorable(value: unknown): void {
  if (typeof value === 'number') requireExact(value)
  if (typeof value === 'string') requireStorableText(value)
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    requireStorableText(name)
    if (UNSAFE_NAMES.has(name)) throw new JsonError(`A member may not be named ${name}.`)
    requireStorable(member)
  }
}

function requireExact(value: number): void {
  const inexact = !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
  if (inexact || Object.is(value, -0)) throw new JsonError('A number is too large, or minus zero.')
}

function requireStorableText(text: string): void {
  if (!text.isWellFormed()) throw new JsonError('A text has half of a surrogate pair.')
  if (text.includes('\0')) throw new JsonError('A text contains the character NUL.')
}

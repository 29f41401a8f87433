/** Thrown for text that is refused as JSON. The message is for the caller. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

const MAX_DEPTH = 16
/** Members that can change an object's prototype when code copies or merges them. */
const UNSAFE_NAMES = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses JSON by the rules of I-JSON (RFC 7493): no duplicate members, no lone surrogates, no integers beyond the safe
 * range. Also refuses NUL, minus zero, the members `__proto__`, `constructor` and `prototype`, and more than 16 levels.
 * `JSON.parse` accepts all of these.
 *
 * @throws {JsonError} whose message never quotes the text
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

/** Matches the strings and structural characters of valid JSON. It can be slow on invalid text. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gu

function requireShallowAndUnique(text: string): void {
  /** The member names of each open object; undefined for an open array. */
  const openLevels: (Set<string> | undefined)[] = []
  let previousToken = ''
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{') openLevels.push(new Set())
    else if (token === '[') openLevels.push(undefined)
    else if (token === '}' || token === ']') openLevels.pop()
    else if (token === ':') {
      const name = JSON.parse(previousToken) as string
      if (openLevels.at(-1)?.has(name)) throw new JsonError('A member is named twice.')
      openLevels.at(-1)?.add(name)
    }
    if (openLevels.length > MAX_DEPTH)
      throw new JsonError(`The body is nested deeper than ${MAX_DEPTH} levels.`)
    previousToken = token
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

/** Refuses numbers that JavaScript cannot write back: infinity, integers that it may round, and minus zero, which becomes 0. */
function requireExact(value: number): void {
  const isInexact = !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
  if (isInexact || Object.is(value, -0)) throw new JsonError('A number is too large, or minus zero.')
}

/** Refuses text that PostgreSQL cannot store: UTF-8 has no form for half of a surrogate pair, and NUL is not allowed. */
function requireStorableText(text: string): void {
  if (!text.isWellFormed()) throw new JsonError('A text has half of a surrogate pair.')
  if (text.includes('\0')) throw new JsonError('A text contains the character NUL.')
}

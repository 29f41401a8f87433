/** Why a text is refused, in words for the person who sent it. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

const MAX_DEPTH = 16

/**
 * JSON as I-JSON has it (RFC 7493): one value, no member twice, no lone surrogate, no number beyond a double;
 * moreover no NUL, no `__proto__` and at most 16 levels. `JSON.parse` alone lets all of these through.
 *
 * @throws {JsonError} never quoting the text
 */
export function parseJson(text: string): unknown {
  requireShallow(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new JsonError('The body is not JSON.')
  }
  requireUniqueMembers(text)
  requireStorable(value)
  return value
}

/** The strings and the structural characters of a JSON text, in order. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gsu

function requireShallow(text: string): void {
  let depth = 0
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    if (depth > MAX_DEPTH) throw new JsonError(`The body is nested deeper than ${MAX_DEPTH} levels.`)
  }
}

function requireUniqueMembers(text: string): void {
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
    previous = token
  }
}

function requireStorable(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new JsonError('A number is too large.')
  if (typeof value === 'string') requireStorableText(value)
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    requireStorableText(name)
    if (name === '__proto__') throw new JsonError('A member may not be named __proto__.')
    requireStorable(member)
  }
}

function requireStorableText(text: string): void {
  if (!text.isWellFormed()) throw new JsonError('A text has half of a surrogate pair.')
  if (text.includes('\0')) throw new JsonError('A text contains the character NUL.')
}

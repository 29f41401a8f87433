import { randomBytes } from 'node:crypto'

/** The key in one line of a key file: `<kind>-<id>:<base64url of 32 bytes>`. */
interface ParsedKey {
  readonly id: string
  readonly bytes: Buffer
}

const KEY_BYTES = 32
/** An id has at most 32 lower-case letters, digits and hyphens. It neither begins nor ends with a hyphen. */
const ID_PATTERN = '[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?'

/**
 * Parses the keys of one kind, in the order of the file. Skips blank lines and lines that begin with `#`.
 *
 * @throws {Error} if a line is invalid or there is no key. The message lists every invalid line by its number, and never quotes a
 *   line, which may contain a key
 */
export function parseKeyFile(kind: string, fileText: string): ParsedKey[] {
  const pattern = new RegExp(`^${kind}-(?<id>${ID_PATTERN}):(?<key>[A-Za-z0-9_-]{43})$`)
  const keys: ParsedKey[] = []
  const mistakes: string[] = []
  for (const [index, untrimmedLine] of fileText.split('\n').entries()) {
    const line = untrimmedLine.trim()
    if (line === '' || line.startsWith('#')) continue
    const key = parseKeyLine(pattern, line)
    if (key === undefined) mistakes.push(`line ${index + 1} is not ${kind}-<id>:<base64url of 32 bytes>`)
    else if (keys.some((other) => other.id === key.id)) mistakes.push(`line ${index + 1} repeats an id`)
    else if (keys.some((other) => other.bytes.equals(key.bytes)))
      mistakes.push(`line ${index + 1} repeats a key`)
    else keys.push(key)
  }
  if (mistakes.length > 0) throw new Error(`bad ${kind} file: ${mistakes.join('; ')}`)
  if (keys.length === 0) throw new Error(`bad ${kind} file: it holds no key`)
  return keys
}

function parseKeyLine(pattern: RegExp, line: string): ParsedKey | undefined {
  const { id, key } = pattern.exec(line)?.groups ?? {}
  if (id === undefined || key === undefined) return undefined
  const bytes = Buffer.from(key, 'base64url')
  // The last of the 43 characters has two unused bits, so a key has four spellings. Only one of them is valid.
  return bytes.toString('base64url') === key ? { id, bytes } : undefined
}

/** Generates a line for a key file, with a random id and a random key. */
export function generateKeyLine(kind: string): string {
  return `${kind}-${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64url')}`
}

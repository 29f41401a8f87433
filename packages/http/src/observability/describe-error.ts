/** An error as it may be logged: kind, code, place and cause, its text freed of what could be somebody's data. */
interface ErrorDescription {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly at?: string
  readonly cause?: ErrorDescription
}

/** From the first quote to the last: what is quoted may hold quotes itself, as JSON does. An apostrophe opens nothing. */
const QUOTED = [/".*"|".*/gs, /(?<!\w)'.*'|(?<!\w)'.*/gs]
const PRIVATE = [
  /[^\s@<>]+@[^\s@<>]+/g,
  /\b(?:Basic|Bearer)\s+\S+/gi,
  /pp[st]_[\w-]*/g,
  /\b\w+:\/\/\S+/g,
  /[A-Za-z0-9_-]{40,}/g,
]
/** The patterns of PRIVATE take quadratic time, so they see no more than this. */
const MAX_SCRUBBED = 1_000
const MAX_MESSAGE = 500
const MAX_FRAMES = 6
const MAX_CAUSES = 4

/** Drivers quote input in their messages, so quoted parts, addresses, credentials and URLs are cut out. */
function scrub(text: string): string {
  const cut = (left: string, pattern: RegExp) => left.replaceAll(pattern, '[…]')
  return PRIVATE.reduce(cut, QUOTED.reduce(cut, text).slice(0, MAX_SCRUBBED)).slice(0, MAX_MESSAGE)
}

export function describeError(thrown: unknown, depth = 0): ErrorDescription {
  if (!(thrown instanceof Error)) return { name: typeof thrown, message: 'not an Error' }
  const { code } = thrown as { code?: unknown }
  const at = frames(thrown)
  return {
    name: thrown.name,
    message: scrub(thrown.message),
    ...(typeof code === 'string' && { code }),
    ...(at && { at }),
    ...(thrown.cause !== undefined &&
      depth < MAX_CAUSES && { cause: describeError(thrown.cause, depth + 1) }),
  }
}

/** The stack begins with the message, which must not pass for a frame. */
function frames({ stack = '', message }: Error): string {
  const start = stack.indexOf(message)
  return (start < 0 ? '' : stack.slice(start + message.length))
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((frame) => frame.trim())
    .join(' < ')
}

/** An error in a form that may be logged: name, code, stack frames and cause, with personal data and secrets redacted. */
interface ErrorDescription {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly at?: string
  readonly cause?: ErrorDescription
}

/** From the first quote to the last, since quoted text may contain quotes, as JSON does. An apostrophe within a word is no quote. */
const QUOTED = [/".*"|".*/gs, /(?<!\w)'.*'|(?<!\w)'.*/gs]
const PRIVATE = [
  /[^\s@<>]+@[^\s@<>]+/g,
  /\b(?:Basic|Bearer)\s+\S+/gi,
  /pp[st]_[\w-]*/g,
  /\b\w+:\/\/\S+/g,
  /[A-Za-z0-9_-]{40,}/g,
]
/** The patterns of PRIVATE take quadratic time, so they get no more than this many characters. */
const MAX_REDACTED = 1_000
const MAX_MESSAGE = 500
const MAX_FRAMES = 6
const MAX_CAUSES = 4

/** Redacts quoted parts, addresses, credentials and URLs, since drivers quote their input in error messages. */
function redact(text: string): string {
  const replace = (left: string, pattern: RegExp) => left.replaceAll(pattern, '[…]')
  return PRIVATE.reduce(replace, QUOTED.reduce(replace, text).slice(0, MAX_REDACTED)).slice(0, MAX_MESSAGE)
}

/** Describes anything that was thrown, with up to four causes. */
export function describeError(thrown: unknown, depth = 0): ErrorDescription {
  if (!(thrown instanceof Error)) return { name: typeof thrown, message: 'not an Error' }
  const { code } = thrown as { code?: unknown }
  const at = frames(thrown)
  return {
    name: thrown.name,
    message: redact(thrown.message),
    ...(typeof code === 'string' && { code }),
    ...(at && { at }),
    ...(thrown.cause !== undefined &&
      depth < MAX_CAUSES && { cause: describeError(thrown.cause, depth + 1) }),
  }
}

/** Returns the frames after the message, with which a stack begins: a line of the message must not pass for a frame. */
function frames({ stack = '', message }: Error): string {
  const start = stack.indexOf(message)
  return (start < 0 ? '' : stack.slice(start + message.length))
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((frame) => frame.trim())
    .join(' < ')
}

/** A description of an error for the log. Personal data and secrets are redacted from its message. */
interface ErrorDescription {
  readonly name: string
  readonly message: string
  readonly code?: string
  /** The innermost stack frames. */
  readonly at?: string
  readonly cause?: ErrorDescription
}

/** These match up to the last quote, because quoted text such as JSON may contain quotes. They ignore apostrophes in words. */
const QUOTED_TEXT = [/".*"|".*/gs, /(?<!\w)'.*'|(?<!\w)'.*/gs]
const SENSITIVE_PATTERNS = [
  // E-mail addresses.
  /[^\s@<>]+@[^\s@<>]+/g,
  // Authorization headers.
  /\b(?:Basic|Bearer)\s+\S+/gi,
  // Our secrets and tokens.
  /pp[st]_[\w-]*/g,
  // URLs.
  /\b\w+:\/\/\S+/g,
  // Long opaque strings, such as keys and hashes.
  /[A-Za-z0-9_-]{40,}/g,
]
/** Bounds the searched text, because some sensitive patterns take quadratic time. The rest is dropped. */
const MAX_SEARCHED_LENGTH = 1_000
const MAX_MESSAGE_LENGTH = 500
const MAX_FRAMES = 6
const MAX_CAUSES = 4

/** Redacts quoted text, because drivers quote their input, and e-mail addresses, credentials, URLs and long opaque strings. */
function redact(text: string): string {
  const redactMatches = (remainingText: string, pattern: RegExp) => remainingText.replaceAll(pattern, '[…]')
  const unquoted = cut(QUOTED_TEXT.reduce(redactMatches, text))
  return SENSITIVE_PATTERNS.reduce(redactMatches, unquoted).slice(0, MAX_MESSAGE_LENGTH)
}

/** Cuts a long text. Redacts the last word, which no pattern might recognise if only its beginning is left. */
const cut = (text: string): string =>
  text.length <= MAX_SEARCHED_LENGTH ? text : text.slice(0, MAX_SEARCHED_LENGTH).replace(/\S*$/, '[…]')

/**
 * Describes a thrown value for the log, with up to four nested causes.
 *
 * @param depth the number of errors above this one in the chain of causes
 */
export function describeError(thrown: unknown, depth = 0): ErrorDescription {
  if (!(thrown instanceof Error)) return { name: typeof thrown, message: 'not an Error' }
  const { code } = thrown as { code?: unknown }
  const frames = formatFrames(thrown)
  return {
    name: thrown.name,
    message: redact(thrown.message),
    ...(typeof code === 'string' && { code }),
    ...(frames && { at: frames }),
    ...(thrown.cause !== undefined &&
      depth < MAX_CAUSES && { cause: describeError(thrown.cause, depth + 1) }),
  }
}

/** Formats the stack frames. Skips the message before them, because one of its lines could look like a frame. */
function formatFrames({ stack = '', message }: Error): string {
  const messageStart = stack.indexOf(message)
  return (messageStart < 0 ? '' : stack.slice(messageStart + message.length))
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((frame) => frame.trim())
    .join(' < ')
}

/** An error as it may be logged: kind, code, place and cause, its text freed of what could be somebody's data. */
export interface ErrorDescription {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly at?: string
  readonly cause?: ErrorDescription
}

/** Drivers quote input in their messages, so quoted parts, addresses, our credentials and URLs are cut out. */
const PRIVATE = [
  /"[^"]*"/g,
  /'[^']*'/g,
  /[^\s@<>]+@[^\s@<>]+/g,
  /pp[st]_[\w-]*/g,
  /\b\w+:\/\/\S+/g,
  /[A-Za-z0-9_-]{40,}/g,
]

const scrub = (text: string) =>
  PRIVATE.reduce((left, pattern) => left.replaceAll(pattern, '[…]'), text).slice(0, 500)

export function describeError(thrown: unknown, depth = 0): ErrorDescription {
  if (!(thrown instanceof Error)) return { name: typeof thrown, message: 'not an Error' }
  const { code } = thrown as { code?: unknown }
  const frames = thrown.stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 6)
  return {
    name: thrown.name,
    message: scrub(thrown.message),
    ...(typeof code === 'string' && { code }),
    ...(frames?.length && { at: frames.map((frame) => frame.trim()).join(' < ') }),
    ...(thrown.cause !== undefined && depth < 4 && { cause: describeError(thrown.cause, depth + 1) }),
  }
}

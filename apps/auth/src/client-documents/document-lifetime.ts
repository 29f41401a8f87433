import { RULES } from '@plainpath/domain'

const MIN_MS = RULES.documentShortestMs
const MAX_MS = RULES.documentLongestMs
/** The lifetime of a document whose headers state none. */
const DEFAULT_MS = RULES.documentDefaultMs

/** The headers of a response that decide how long it may be cached (RFC 9111 §5), as `node:http` joins them. */
export interface CachingHeaders {
  readonly 'cache-control'?: string | undefined
  readonly expires?: string | undefined
  readonly date?: string | undefined
  readonly age?: string | undefined
}

/**
 * Computes how long a document may be cached, in milliseconds from `now`. Its headers decide (RFC 9111 §4.2.1, for a
 * shared cache), between five minutes and a day. If they state no lifetime, the result is an hour. If a directive forbids
 * caching, or the lifetime is unreadable, the result is the minimum. If a directive is repeated, its smallest value counts.
 *
 * @param now when the response arrived
 */
export function computeDocumentLifetimeMs(headers: CachingHeaders, now: Date): number {
  const statedMs = readFreshnessMs(headers, now)
  if (statedMs === undefined) return DEFAULT_MS
  const ageMs = parseAgeMs(headers.age)
  // Both may be infinite, whose difference is no number.
  const remainingMs = ageMs < statedMs ? statedMs - ageMs : 0
  return Math.min(Math.max(remainingMs, MIN_MS), MAX_MS)
}

/** Directives under which a shared cache must not store a response, or must revalidate it (RFC 9111 §5.2.2). */
const NOT_CACHED = new Set(['no-store', 'no-cache', 'private'])

/** Returns the lifetime that the response states, counted from its creation by the server; undefined if it states none. */
function readFreshnessMs(headers: CachingHeaders, now: Date): number | undefined {
  const directives = parseDirectives(headers['cache-control'] ?? '')
  if (directives.some(({ name }) => NOT_CACHED.has(name))) return 0
  for (const directive of ['s-maxage', 'max-age']) {
    const statedSeconds = directives
      .filter(({ name }) => name === directive)
      .map(({ value }) => parseDeltaSeconds(value))
    if (statedSeconds.length > 0) return Math.min(...statedSeconds) * 1000
  }
  if (headers.expires === undefined) return undefined
  const expires = Date.parse(headers.expires)
  const date = headers.date === undefined ? now.getTime() : Date.parse(headers.date)
  return Number.isNaN(expires) || Number.isNaN(date) ? 0 : expires - date
}

const parseDirectives = (text: string) =>
  text.split(',').map((part) => {
    const [name = '', value = ''] = part.split('=', 2)
    return { name: name.trim().toLowerCase(), value: value.trim() }
  })

/** Parses delta-seconds (RFC 9111 §1.2.2), with or without quotes. Any other text counts as 0. */
function parseDeltaSeconds(text: string): number {
  const digits = /^(?<quote>"?)(?<digits>\d+)\k<quote>$/.exec(text)?.groups?.['digits']
  return digits === undefined ? 0 : Number(digits)
}

/** Parses the header `Age`. A response of unreadable age counts as infinitely old. */
const parseAgeMs = (age: string | undefined): number => {
  if (age === undefined) return 0
  return /^\d+$/.test(age) ? Number(age) * 1000 : Infinity
}

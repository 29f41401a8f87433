import { RULES } from '@plainpath/domain'

const SHORTEST_MS = RULES.documentShortestMs
const LONGEST_MS = RULES.documentLongestMs
/** The lifetime of a document without caching headers. */
const DEFAULT_MS = RULES.documentDefaultMs

/** The headers of a response that decide how long it may be cached (RFC 9111 §5), as `node:http` joins them. */
export interface CachingHeaders {
  readonly 'cache-control'?: string | undefined
  readonly expires?: string | undefined
  readonly date?: string | undefined
  readonly age?: string | undefined
}

/**
 * Returns how long a document may be cached, in milliseconds from `now`: what its headers say (RFC 9111 §4.2.1, as a shared
 * cache), but five minutes at least and a day at most. It is an hour when they say nothing. Directives that forbid or
 * contradict caching and values that cannot be read mean the shortest lifetime.
 *
 * @param now when the response arrived
 */
export function documentLifetimeMs(headers: CachingHeaders, now: Date): number {
  const freshMs = freshnessMs(headers, now)
  if (freshMs === undefined) return DEFAULT_MS
  const remainingMs = freshMs - ageMs(headers.age)
  return Math.min(Math.max(remainingMs, SHORTEST_MS), LONGEST_MS)
}

/** Directives under which a shared cache may not reuse a response without asking again (RFC 9111 §5.2.2). */
const NOT_CACHED = new Set(['no-store', 'no-cache', 'private'])

/** How long the response was fresh when its server made it; undefined when it does not say. */
function freshnessMs(headers: CachingHeaders, now: Date): number | undefined {
  const directives = parseDirectives(headers['cache-control'] ?? '')
  if (directives.some(({ name }) => NOT_CACHED.has(name))) return 0
  for (const wanted of ['s-maxage', 'max-age']) {
    const ages = directives.filter(({ name }) => name === wanted).map(({ value }) => seconds(value))
    if (ages.length > 0) return Math.min(...ages) * 1000
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

/** Parses delta-seconds (RFC 9111 §1.2.2), also quoted. Any other text counts as 0. */
function seconds(text: string): number {
  const digits = /^(?<quote>"?)(?<digits>\d+)\k<quote>$/.exec(text)?.groups?.['digits']
  return digits === undefined ? 0 : Number(digits)
}

/** An age that cannot be read counts as older than any lifetime. */
const ageMs = (age: string | undefined): number => {
  if (age === undefined) return 0
  return /^\d+$/.test(age) ? Number(age) * 1000 : LONGEST_MS
}

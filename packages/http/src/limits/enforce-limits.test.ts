import { describe, expect, test } from 'vitest'
import { startService } from '../../test/start-service.ts'
import { enforceLimits } from './enforce-limits.ts'
import type { LimitState } from './limit-store.ts'

const createLimitState = (name: string, changes: Partial<LimitState> = {}): LimitState => ({
  policy: { name, quota: 10, windowSeconds: 60 },
  allowed: true,
  remaining: 9,
  resetSeconds: 42,
  ...changes,
})
const createRefusingState = (name: string) => createLimitState(name, { allowed: false, remaining: 0 })

/** Sends a request for which the server calls `enforceLimits` once with each list of states. Returns the response. */
async function fetchWithLimits(...calls: LimitState[][]): Promise<Response> {
  await using service = await startService({
    use: [
      async (ctx) => {
        for (const states of calls) enforceLimits(ctx, ...states)
        ctx.body = 'done'
      },
    ],
  })
  const response = await fetch(service.url)
  // Reads the body before the service closes.
  return new Response(await response.text(), response)
}

type ListItem = { value: string; parameters: Record<string, number> }

/**
 * Parses a list of strings with integer parameters (RFC 9651 §4.2.1). Does not decode the escapes in a string.
 *
 * @throws {Error} if the field is not such a list
 */
function parseList(field: string): ListItem[] {
  const items: ListItem[] = []
  let remainingText = field
  const take = (pattern: RegExp): string => {
    const match = pattern.exec(remainingText)
    if (!match || match.index !== 0) throw new Error(`${pattern} expected at "${remainingText}"`)
    remainingText = remainingText.slice(match[0].length)
    return match[1] ?? match[0]
  }
  do {
    // A string has printable ASCII characters, of which quotes and backslashes are escaped (RFC 9651 §3.3.3).
    const value = take(/^"((?:[\x20\x21\x23-\x5B\x5D-\x7E]|\\["\\])*)"/)
    const parameters: Record<string, number> = {}
    while (remainingText.startsWith(';')) {
      take(/^; */)
      // A key begins with a small letter or an asterisk (§3.1.2).
      const name = take(/^[a-z*][a-z0-9_\-.*]*/)
      take(/^=/)
      // An integer has at most 15 digits. A dot after them would make it a decimal (§3.3.1 and §3.3.2).
      parameters[name] = Number(take(/^-?\d{1,15}(?![\d.])/))
    }
    items.push({ value, parameters })
    if (remainingText) take(/^[ \t]*,[ \t]*(?=")/)
  } while (remainingText)
  return items
}

describe('the headers RateLimit-Policy and RateLimit', () => {
  test('state the quota, window, remaining quota and reset time of each policy', async () => {
    const response = await fetchWithLimits([
      createLimitState('reads'),
      createLimitState('all', { remaining: 0, resetSeconds: 1 }),
    ])
    expect(response.status).toBe(200)
    expect(parseList(response.headers.get('ratelimit-policy') ?? '')).toEqual([
      { value: 'reads', parameters: { q: 10, w: 60 } },
      { value: 'all', parameters: { q: 10, w: 60 } },
    ])
    expect(parseList(response.headers.get('ratelimit') ?? '')).toEqual([
      { value: 'reads', parameters: { r: 9, t: 42 } },
      { value: 'all', parameters: { r: 0, t: 1 } },
    ])
  })

  test('keep the policies that were reported earlier in the request', async () => {
    const response = await fetchWithLimits([createLimitState('first')], [], [createLimitState('second')])
    expect(parseList(response.headers.get('ratelimit') ?? '').map(({ value }) => value)).toEqual([
      'first',
      'second',
    ])
  })

  test('are absent if no limit applies', async () => {
    const response = await fetchWithLimits([])
    expect(response.headers.get('ratelimit')).toBeNull()
    expect(response.headers.get('ratelimit-policy')).toBeNull()
  })
})

describe('a refusal', () => {
  test('is a 429 that names the policy and says when to try again', async () => {
    const response = await fetchWithLimits([createLimitState('first')], [createRefusingState('second')])
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('42')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toMatchObject({
      code: 'rate-limited',
      policy: 'second',
      detail: 'The limit "second" allows 10 in 60 seconds. Try again in 42 seconds.',
    })
    expect(parseList(response.headers.get('ratelimit') ?? '')).toEqual([
      { value: 'first', parameters: { r: 9, t: 42 } },
      { value: 'second', parameters: { r: 0, t: 42 } },
    ])
  })

  test('says “1 second”, not “1 seconds”', async () => {
    const everySecond = { name: 'second', quota: 10, windowSeconds: 1 }
    const response = await fetchWithLimits([
      createLimitState('second', { allowed: false, resetSeconds: 1, policy: everySecond }),
    ])
    expect(await response.json()).toMatchObject({
      detail: 'The limit "second" allows 10 in 1 second. Try again in 1 second.',
    })
  })

  test('ends the request, so later calls report nothing', async () => {
    const response = await fetchWithLimits([createRefusingState('first')], [createLimitState('second')])
    expect(parseList(response.headers.get('ratelimit') ?? '').map(({ value }) => value)).toEqual(['first'])
  })
})

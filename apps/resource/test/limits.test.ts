import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

/*
 * With a factor of 1, the limit of an address without a token is 120 reads a minute. The tests with this factor send a few more.
 */

const readGuides = (origin: string, forwardedFor?: string) =>
  sendRequest(origin, {
    path: '/api/guides',
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
  })
/** Sends requests simultaneously. Returns the number of accepted ones, and a refusal if there is any. */
async function sendAll(count: number, send: (index: number) => ReturnType<typeof readGuides>) {
  const responses = await Promise.all(Array.from({ length: count }, (_, index) => send(index)))
  return {
    acceptedCount: responses.filter(({ status }) => status === 200).length,
    refusal: responses.find(({ status }) => status === 429),
  }
}

describe('the limits of an address', () => {
  test('are enforced by each process alone while Redis is unavailable', async () => {
    await using api = await startResource({
      env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_REDIS_URL: 'redis://127.0.0.1:1' },
    })
    const { acceptedCount, refusal } = await sendAll(125, () => readGuides(api.origin))
    expect(acceptedCount).toBe(120)
    if (!refusal) throw new Error('no request was refused')
    expectProblem(refusal, { status: 429, code: 'rate-limited' })
  })

  test('ignore X-Forwarded-For from a caller that is not a trusted proxy', async () => {
    await using api = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    const { acceptedCount } = await sendAll(125, (index) => readGuides(api.origin, `10.0.0.${index}`))
    expect(acceptedCount).toBe(120)
  })

  test('apply to the address that a trusted proxy adds to X-Forwarded-For, and to an IPv6 /64', async () => {
    await using api = await startResource({
      env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' },
    })
    // The proxy adds the last address. The caller can invent those before it.
    const sameAddress = await sendAll(125, (index) =>
      readGuides(api.origin, `192.0.2.${index}, 198.51.100.7`),
    )
    expect(sameAddress.acceptedCount).toBe(120)
    expect((await readGuides(api.origin, '198.51.100.8')).status).toBe(200)
    const sameNetwork = await sendAll(125, (index) =>
      readGuides(api.origin, `2001:db8:1:2::${index.toString(16)}`),
    )
    expect(sameNetwork.acceptedCount).toBe(120)
  })

  test('bound how many unknown tokens are introspected', async () => {
    await using api = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '0.01' } })
    const responses = await Promise.all(
      Array.from({ length: 100 }, () =>
        sendRequest(api.origin, {
          path: '/api/guides',
          headers: { authorization: `Bearer ppt_${randomBytes(32).toString('base64url')}` },
        }),
      ),
    )
    // The limit is 30 a minute times the factor, but at least one.
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(99)
    expect(api.auth.requests.introspection).toBe(1)
  })
})

import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const read = (origin: string, forwarded?: string) =>
  sendRequest(origin, {
    path: '/api/guides',
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  })
async function statuses(count: number, question: (n: number) => ReturnType<typeof read>) {
  const responses = await Promise.all(Array.from({ length: count }, (_, n) => question(n)))
  return {
    ok: responses.filter(({ status }) => status === 200).length,
    refused: responses.find(({ status }) => status === 429),
  }
}

describe('the limits of an address', () => {
  test('are counted in the process while Redis is unavailable', async () => {
    await using api = await startResource({
      env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_REDIS_URL: 'redis://127.0.0.1:1' },
    })
    const { ok, refused } = await statuses(125, () => read(api.origin))
    expect(ok).toBe(120)
    if (!refused) throw new Error('none was refused')
    expectProblem(refused, { status: 429, code: 'rate-limited' })
  })

  test('are not widened by headers that anybody can write', async () => {
    await using api = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    expect((await statuses(125, (n) => read(api.origin, `10.0.0.${n}`))).ok).toBe(120)
  })

  test('apply to the hop before a trusted proxy', async () => {
    await using api = await startResource({
      env: { RESOURCE_LIMITS_FACTOR: '1', RESOURCE_TRUSTED_PROXIES: '127.0.0.1' },
    })
    expect((await statuses(125, (n) => read(api.origin, `192.0.2.${n}, 198.51.100.7`))).ok).toBe(120)
    expect((await read(api.origin, '198.51.100.8')).status).toBe(200)
    expect((await statuses(125, (n) => read(api.origin, `2001:db8:1:2::${n.toString(16)}`))).ok).toBe(120)
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
    // 30 a minute, times the factor, and one at least.
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(99)
    expect(api.auth.requests.introspection).toBe(1)
  })
})

import { expect, test } from 'vitest'
import { z } from 'zod'
import { startService } from '../../test/start-service.ts'
import { createLimiter, createLog, createMemoryLimitStore, defineRoute } from '../index.ts'

test('does not count a request against later limits when an earlier one refuses it', async () => {
  // The clock stands still, so quotas always reset in 60 s (`t=60`).
  const now = () => new Date(0)
  const memory = createMemoryLimitStore(now)
  const countedPolicies: string[] = []
  const limiter = createLimiter({
    store: {
      ...memory,
      take(key, policy, yesterdaysKey) {
        countedPolicies.push(policy.name)
        return memory.take(key, policy, yesterdaysKey)
      },
    },
    factor: 1,
    now,
    log: createLog({ service: 'test', write: () => {} }),
  })
  const route = defineRoute({
    method: 'get',
    path: '/limited',
    operationId: 'limited',
    summary: 'A route with two limits',
    access: 'open',
    limits: {
      address: [{ name: 'narrow', quota: 1, windowSeconds: 60 }],
      anonymous: [{ name: 'wide', quota: 9, windowSeconds: 60 }],
    },
    responses: { 200: z.string() },
    handle: () => ({ status: 200, body: 'fine' }),
  })
  await using service = await startService({ limiter, routes: [route] })
  const response = await fetch(`${service.url}/limited`)
  expect(response.headers.get('ratelimit')).toBe('"narrow";r=0;t=60, "wide";r=8;t=60')
  const refusal = await fetch(`${service.url}/limited`)
  expect(refusal.status).toBe(429)
  expect(refusal.headers.get('ratelimit')).toBe('"narrow";r=0;t=60')
  // The second request was refused by `narrow`, before `wide`.
  expect(countedPolicies).toEqual(['narrow', 'wide', 'narrow'])
})

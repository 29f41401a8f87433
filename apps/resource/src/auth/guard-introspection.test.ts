import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { guardIntrospection } from './guard-introspection.ts'
import type { Introspection } from './introspection.ts'

/** Sends an unknown token from each address, all in the same tick. Returns how many of the tokens were introspected. */
async function countIntrospected(addresses: readonly string[]): Promise<number> {
  const response = Promise.withResolvers<Introspection>()
  const introspect = guardIntrospection({
    introspect: () => response.promise,
    factor: 1,
    now: () => new Date('2026-11-27T12:00:00Z'),
  })
  const results = addresses.map((address) =>
    introspect(`ppt_${randomBytes(32).toString('base64url')}`, address),
  )
  response.resolve({ active: false })
  return (await Promise.allSettled(results)).filter(({ status }) => status === 'fulfilled').length
}

test('at most 16 of the unknown tokens that arrive from a network in the same tick are introspected', async () => {
  expect(await countIntrospected(Array<string>(40).fill('192.0.2.1'))).toBe(16)
})

test('at most 128 of the unknown tokens that arrive in the same tick are introspected', async () => {
  expect(await countIntrospected(Array.from({ length: 200 }, (_, index) => `198.51.100.${index}`))).toBe(128)
})

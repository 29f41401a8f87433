import { expect, test } from 'vitest'
import { describeLimitStore } from './limit-store.contract.ts'
import { createMemoryLimitStore } from './limit-store.ts'

describeLimitStore('memory', async () => {
  let nowMs = Date.UTC(2026, 0, 1)
  return {
    store: createMemoryLimitStore(() => new Date(nowMs)),
    async advance(seconds) {
      nowMs += seconds * 1000
    },
    async [Symbol.asyncDispose]() {},
  }
})

const createPolicy = (name: string) => ({ name, quota: 1, windowSeconds: 60 })
/** The number of keys for which the memory store has room in each policy (`KEY_CACHE_OPTIONS` in `limit-store.ts`). */
const MAX_KEYS = 50_000

test('evicts the least recently used key of a policy beyond 50,000 keys', async () => {
  const store = createMemoryLimitStore(() => new Date(0))
  const policy = createPolicy('once')
  await store.take('first', policy)
  await store.take('second', policy)
  for (let index = 0; index < MAX_KEYS - 2; index += 1) await store.take(`key ${index}`, policy)
  // A refused request also counts as a use of its key, so `second` is now the least recently used key.
  expect((await store.take('first', policy)).allowed).toBe(false)
  await store.take('one more', policy)
  expect((await store.take('second', policy)).allowed).toBe(true)
})

test('retains the counts of one policy during a flood of keys under another policy', async () => {
  const store = createMemoryLimitStore(() => new Date(0))
  const credentials = createPolicy('client-authentication')
  await store.take('a refused credential', credentials)
  for (let index = 0; index < 2 * MAX_KEYS; index += 1)
    await store.take(`address ${index}`, createPolicy('reads'))
  expect((await store.take('a refused credential', credentials)).allowed).toBe(false)
})

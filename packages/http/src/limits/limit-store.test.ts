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
const MAX_KEYS = 50_000

test('evicts the least recently used key of a policy beyond 50,000', async () => {
  const store = createMemoryLimitStore(() => new Date(0))
  const singleUse = createPolicy('once')
  await store.take('first', singleUse)
  await store.take('second', singleUse)
  for (let index = 0; index < MAX_KEYS - 2; index += 1) await store.take(`key ${index}`, singleUse)
  expect((await store.take('first', singleUse)).allowed).toBe(false)
  await store.take('one more', singleUse)
  expect((await store.take('second', singleUse)).allowed).toBe(true)
})

test('retains the counts of one policy during a flood of keys under another', async () => {
  const store = createMemoryLimitStore(() => new Date(0))
  const credentials = createPolicy('client-authentication')
  await store.take('a refused credential', credentials)
  for (let index = 0; index < 2 * MAX_KEYS; index += 1)
    await store.take(`address ${index}`, createPolicy('reads'))
  expect((await store.take('a refused credential', credentials)).allowed).toBe(false)
})

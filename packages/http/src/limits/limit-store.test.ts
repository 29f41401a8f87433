import { expect, test } from 'vitest'
import { limitStoreContract } from './limit-store.contract.ts'
import { memoryLimitStore } from './limit-store.ts'

limitStoreContract('memory', async () => {
  let at = Date.UTC(2026, 0, 1)
  return {
    store: memoryLimitStore(() => new Date(at)),
    async advance(seconds) {
      at += seconds * 1000
    },
    async [Symbol.asyncDispose]() {},
  }
})

test('memory is bounded: past 100 000 keys the one used longest ago begins again', async () => {
  const store = memoryLimitStore(() => new Date(0))
  const once = { name: 'once', quota: 1, windowSeconds: 60 }
  await store.take('first', once)
  await store.take('second', once)
  for (let index = 0; index < 99_998; index += 1) await store.take(`key ${index}`, once)
  expect((await store.take('first', once)).allowed).toBe(false)
  await store.take('one more', once)
  expect((await store.take('second', once)).allowed).toBe(true)
})

import { createLog } from '@plainpath/http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type WatchedClientSecret, watchClientSecret } from './watch-client-secret.ts'

const logged: string[] = []
let file: string | Error
let reads: number
let secret: WatchedClientSecret
const open = (intervalMs: number) =>
  watchClientSecret({
    initial: 'secret-one',
    async read() {
      reads += 1
      if (file instanceof Error) throw file
      return file
    },
    intervalMs,
    log: createLog({ service: 'test', write: (line) => void logged.push(line) }),
  })
beforeEach(() => {
  logged.length = 0
  ;[file, reads] = ['secret-one', 0]
  secret = open(60_000)
})
afterEach(() => secret[Symbol.asyncDispose]())

test('reads its file at an interval', async () => {
  await using quick = open(5)
  file = 'secret-two'
  await expect.poll(quick.current).toBe('secret-two')
  expect(logged.join('')).not.toContain('secret-two')
})

test('reads the file at once, and once, for concurrent rejections of a secret', async () => {
  file = 'secret-two'
  const others = await Promise.all(Array.from({ length: 20 }, () => secret.alternativeTo('secret-one')))
  expect(new Set(others)).toEqual(new Set(['secret-two']))
  expect(reads).toBe(1)
  expect(secret.current()).toBe('secret-two')
})

test('returns the newer secret without a read when an older one was rejected', async () => {
  file = 'secret-two'
  await secret.alternativeTo('secret-one')
  expect(await secret.alternativeTo('secret-one')).toBe('secret-two')
  expect(reads).toBe(1)
})

test('returns the previous secret when the new one is not accepted yet', async () => {
  file = 'secret-two'
  await secret.alternativeTo('secret-one')
  expect(await secret.alternativeTo('secret-two')).toBe('secret-one')
})

test('returns nothing when the file did not change', async () => {
  expect(await secret.alternativeTo('secret-one')).toBeUndefined()
})

test('keeps the secret when the file cannot be read, and logs that once', async () => {
  file = Object.assign(new Error('secret-of-a-path'), { code: 'ENOENT' })
  expect(await secret.alternativeTo('secret-one')).toBeUndefined()
  expect(await secret.alternativeTo('secret-one')).toBeUndefined()
  expect(secret.current()).toBe('secret-one')
  expect(logged).toHaveLength(1)
  expect(logged[0]).toContain('ENOENT')
  expect(logged[0]).not.toContain('secret-of-a-path')
})

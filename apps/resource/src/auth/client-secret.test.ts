import { createLog } from '@plainpath/http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FollowedClientSecret, followClientSecret } from './client-secret.ts'

const logged: string[] = []
let file: string | Error
let readings: number
let secret: FollowedClientSecret
const open = (readMs: number) =>
  followClientSecret({
    first: 'secret-one',
    async read() {
      readings += 1
      if (file instanceof Error) throw file
      return file
    },
    readMs,
    log: createLog({ service: 'test', write: (line) => void logged.push(line) }),
  })
beforeEach(() => {
  logged.length = 0
  ;[file, readings] = ['secret-one', 0]
  secret = open(60_000)
})
afterEach(() => secret[Symbol.asyncDispose]())

test('follows its file by itself', async () => {
  await using quick = open(5)
  file = 'secret-two'
  await expect.poll(quick.current).toBe('secret-two')
  expect(logged.join('')).not.toContain('secret-two')
})

test('a refused secret is looked for in the file at once, by any number of requests in one reading', async () => {
  file = 'secret-two'
  const others = await Promise.all(Array.from({ length: 20 }, () => secret.insteadOf('secret-one')))
  expect(new Set(others)).toEqual(new Set(['secret-two']))
  expect(readings).toBe(1)
  expect(secret.current()).toBe('secret-two')
})

test('who was refused with an older one gets the newer one without a reading', async () => {
  file = 'secret-two'
  await secret.insteadOf('secret-one')
  expect(await secret.insteadOf('secret-one')).toBe('secret-two')
  expect(readings).toBe(1)
})

test('the one before is tried where the new one is not known yet', async () => {
  file = 'secret-two'
  await secret.insteadOf('secret-one')
  expect(await secret.insteadOf('secret-two')).toBe('secret-one')
})

test('there is none where the file did not change', async () => {
  expect(await secret.insteadOf('secret-one')).toBeUndefined()
})

test('a file that cannot be read changes nothing, and is told once', async () => {
  file = Object.assign(new Error('secret-of-a-path'), { code: 'ENOENT' })
  expect(await secret.insteadOf('secret-one')).toBeUndefined()
  expect(await secret.insteadOf('secret-one')).toBeUndefined()
  expect(secret.current()).toBe('secret-one')
  expect(logged).toHaveLength(1)
  expect(logged[0]).toContain('ENOENT')
  expect(logged[0]).not.toContain('secret-of-a-path')
})

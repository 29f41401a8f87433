import { createLog } from '@plainpath/http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type WatchedClientSecret, watchClientSecret } from './watch-client-secret.ts'

const logLines: string[] = []
/** What reading the file returns or throws. */
let fileContent: string | Error
let readCount: number
let secret: WatchedClientSecret
const watch = (intervalMs: number) =>
  watchClientSecret({
    initial: 'secret-one',
    async read() {
      readCount += 1
      if (fileContent instanceof Error) throw fileContent
      return fileContent
    },
    intervalMs,
    log: createLog({ service: 'test', write: (line) => void logLines.push(line) }),
  })
beforeEach(() => {
  logLines.length = 0
  fileContent = 'secret-one'
  readCount = 0
  // The interval is longer than a test, so only rejections of a secret cause reads.
  secret = watch(60_000)
})
afterEach(() => secret[Symbol.asyncDispose]())

test('reads the file at the interval, and does not log the secret', async () => {
  await using frequent = watch(5)
  fileContent = 'secret-two'
  await expect.poll(frequent.current).toBe('secret-two')
  expect(logLines.join('')).not.toContain('secret-two')
})

test('reads the file immediately, and only once, for concurrent rejections of a secret', async () => {
  fileContent = 'secret-two'
  const alternatives = await Promise.all(
    Array.from({ length: 20 }, () => secret.findAlternative('secret-one')),
  )
  expect(new Set(alternatives)).toEqual(new Set(['secret-two']))
  expect(readCount).toBe(1)
  expect(secret.current()).toBe('secret-two')
})

test('returns the newer secret, without reading the file, when an older secret was rejected', async () => {
  fileContent = 'secret-two'
  await secret.findAlternative('secret-one')
  expect(await secret.findAlternative('secret-one')).toBe('secret-two')
  expect(readCount).toBe(1)
})

test('returns the previous secret when the new secret is not accepted yet', async () => {
  fileContent = 'secret-two'
  await secret.findAlternative('secret-one')
  expect(await secret.findAlternative('secret-two')).toBe('secret-one')
})

test('returns undefined when the file did not change and there is no previous secret', async () => {
  expect(await secret.findAlternative('secret-one')).toBeUndefined()
})

test('keeps the secret when the file cannot be read, and logs the reason once', async () => {
  fileContent = Object.assign(new Error('secret-of-a-path'), { code: 'ENOENT' })
  expect(await secret.findAlternative('secret-one')).toBeUndefined()
  expect(await secret.findAlternative('secret-one')).toBeUndefined()
  expect(secret.current()).toBe('secret-one')
  expect(logLines).toHaveLength(1)
  expect(logLines[0]).toContain('ENOENT')
  expect(logLines[0]).not.toContain('secret-of-a-path')
})

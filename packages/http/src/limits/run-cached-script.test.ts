import { expect, test } from 'vitest'
import { runCachedScript } from './run-cached-script.ts'

/** The SHA-1 digest of the script `return 1`. */
const DIGEST = 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db'

test('runs a script by its digest, and in full on a server that has not cached it', async () => {
  const calls: string[] = []
  const recordDigest = async (digest: string) => calls.push(digest)
  await runCachedScript('return 1', recordDigest, async () => calls.push('in full'))
  expect(calls).toEqual([DIGEST])
  const failAsNotCached = async () => {
    throw new Error('NOSCRIPT No matching script. Please use EVAL.')
  }
  expect(await runCachedScript('return 1', failAsNotCached, async () => 'replied')).toBe('replied')
})

test('does not run a script in full after another error, because it may have run', async () => {
  const timeOut = async () => {
    throw new Error('Command timed out')
  }
  let fullRuns = 0
  await expect(runCachedScript('return 1', timeOut, async () => (fullRuns += 1))).rejects.toThrow('timed out')
  expect(fullRuns).toBe(0)
})

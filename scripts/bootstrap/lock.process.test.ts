import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { takeLock } from './lock.mjs'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'lock-'))
  file = path.join(folder, 'lock')
})
afterEach(() => rmSync(folder, { recursive: true }))

it('grants the lock to one caller at a time, and to every caller eventually', async () => {
  let holderCount = 0
  let maxHolderCount = 0
  const takeTurn = async () => {
    const release = await takeLock(file, { waitSeconds: 10 })
    maxHolderCount = Math.max(maxHolderCount, ++holderCount)
    await new Promise(setImmediate)
    holderCount--
    release()
  }
  await Promise.all([takeTurn(), takeTurn(), takeTurn()])
  expect(maxHolderCount).toBe(1)
  expect(existsSync(file)).toBe(false)
})

it('takes over the lock of a process that has ended, even if its id is in use again', async () => {
  const { pid } = spawnSync('true')
  // A holder is named `pid.start time`. The start time 1, one tick after boot, is not the one of this process.
  for (const endedHolder of [`${pid}.1`, `${process.pid}.1`]) {
    symlinkSync(endedHolder, file)
    const release = await takeLock(file, { waitSeconds: 0 })
    release()
  }
  expect(existsSync(file)).toBe(false)
})

it('gives up after the given time while the holder is running, and reports the wait once', async () => {
  const release = await takeLock(file, { waitSeconds: 0 })
  let onWaitCalls = 0
  const secondLock = takeLock(file, { waitSeconds: 0.3, onWait: () => onWaitCalls++ })
  await expect(secondLock).rejects.toThrow(`Another process (${process.pid}) has held ${file} for 0.3 s.`)
  expect(onWaitCalls).toBe(1)
  release()
})

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

it('grants the lock to one process at a time, and to each in the end', async () => {
  let inside = 0
  let most = 0
  const enter = async () => {
    const release = await takeLock(file, { waitSeconds: 10 })
    most = Math.max(most, ++inside)
    await new Promise(setImmediate)
    inside--
    release()
  }
  await Promise.all([enter(), enter(), enter()])
  expect(most).toBe(1)
  expect(existsSync(file)).toBe(false)
})

it('takes over the lock of a process that has ended, also when its id is in use again', async () => {
  const { pid } = spawnSync('true')
  for (const dead of [`${pid}.1`, `${process.pid}.1`]) {
    symlinkSync(dead, file)
    const release = await takeLock(file, { waitSeconds: 0 })
    release()
  }
  expect(existsSync(file)).toBe(false)
})

it('gives up after the given time while the holder is running, and reports the wait once', async () => {
  const release = await takeLock(file, { waitSeconds: 0 })
  let waits = 0
  const second = takeLock(file, { waitSeconds: 0.3, onWait: () => waits++ })
  await expect(second).rejects.toThrow(`Another process (${process.pid}) has held ${file} for 0.3 s.`)
  expect(waits).toBe(1)
  release()
})

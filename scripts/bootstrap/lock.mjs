import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { Refusal } from './machine.mjs'

/**
 * Takes a lock between processes of one machine: a symbolic link whose target names its holder, because its creation is
 * atomic and includes the name. The lock of a process that ended without releasing it is taken over.
 *
 * @param {string} file
void }} options `onWait` is called once, when another process holds it. =>  * @param {{ waitSeconds: number, onWait?: () => void }} options `onWait` is called once if another process holds the lock. => void }} options `onWait` is called once, when another process holds it.
 * @returns {Promise<() => void>} the release
 * @throws {Refusal} when the holder is still running after `waitSeconds`.
 */
export async function takeLock(file, { waitSeconds, onWait }) {
  const self = `${process.pid}.${readStartTime(process.pid)}`
  const deadline = Date.now() + waitSeconds * 1000
  for (let waited = false; ; waited = true) {
    if (make(file, self)) return () => void (readHolder(file) === self && rmSync(file, { force: true }))
    const holder = readHolder(file)
    if (holder !== undefined && !isAlive(holder)) {
      removeStaleLock(file, holder)
      continue
    }
    if (Date.now() > deadline)
      throw new Refusal(`Another process (${holder?.split('.')[0]}) has held ${file} for ${waitSeconds} s.`)
    if (!waited) onWait?.()
    await setTimeout(100)
  }
}

/** @param {string} file @param {string} self */
function make(file, self) {
  try {
    symlinkSync(self, file)
    return true
  } catch (error) {
    if (readErrorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** @param {string} file @returns {string | undefined} */
function readHolder(file) {
  try {
    return readlinkSync(file)
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Process ids are reused, so the name includes the start time. @param {string} holder */
function isAlive(holder) {
  const [pid = '', start] = holder.split('.')
  return readStartTime(pid) === start
}

/** Reads the start time of a process in clock ticks since boot. @param {string | number} pid @returns {string} '' when there is none */
function readStartTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

/** Moves the lock before deleting it, so that of several processes one succeeds and none deletes a newer lock. @param {string} file @param {string} dead */
function removeStaleLock(file, dead) {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return
    throw error
  }
  const moved = readHolder(aside)
  if (moved !== undefined && moved !== dead) make(file, moved)
  rmSync(aside, { force: true })
}

/** @param {unknown} error */
function readErrorCode(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

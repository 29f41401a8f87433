import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from './machine.mjs'

/**
 * Takes a lock between processes of one machine. The lock is a symbolic link whose target names its holder, because creating the
 * link and naming the holder is then one atomic step. The lock of a process that ended without releasing it is taken over.
 *
 * @param {string} file
 * @param {{ waitSeconds: number, onWait?: () => void }} options `onWait` is called once if another process holds the lock.
 * @returns {Promise<() => void>} a function that releases the lock
 * @throws {Refusal} if the holder is still running after `waitSeconds`.
 */
export async function takeLock(file, { waitSeconds, onWait }) {
  const self = `${process.pid}.${readStartTime(process.pid)}`
  const deadline = Date.now() + waitSeconds * 1000
  for (let hasWaited = false; ; hasWaited = true) {
    if (createLock(file, self)) return () => releaseLock(file, self)
    const holder = readHolder(file)
    if (holder !== undefined && !isAlive(holder)) {
      removeStaleLock(file, holder)
      continue
    }
    if (Date.now() > deadline)
      throw new Refusal(`Another process (${holder?.split('.')[0]}) has held ${file} for ${waitSeconds} s.`)
    if (!hasWaited) onWait?.()
    await sleep(100)
  }
}

/** Creates the lock. Returns false if it exists already. @param {string} file @param {string} holder */
function createLock(file, holder) {
  try {
    symlinkSync(holder, file)
    return true
  } catch (error) {
    if (readErrorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Deletes the lock unless another process has taken it over. @param {string} file @param {string} holder */
function releaseLock(file, holder) {
  if (readHolder(file) === holder) rmSync(file, { force: true })
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

/**
 * Returns whether a holder is running. Process ids are reused, so the name of a holder also has the start time of its process.
 *
 * @param {string} holder
 */
function isAlive(holder) {
  const [pid = '', start] = holder.split('.')
  return readStartTime(pid) === start
}

/**
 * Reads the start time of a process, in clock ticks since boot.
 *
 * @param {string | number} pid
 * @returns {string} '' if there is no such process
 */
function readStartTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The start time is field 22 (proc_pid_stat(5)). Field 2 is the name of the program, which may contain blanks.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

/**
 * Removes the lock of a process that has ended. Other processes may do the same at the same time, so this moves the lock before
 * deleting it: only one move of a lock succeeds. If it has moved the lock of a new holder, it creates that lock again.
 *
 * @param {string} file
 * @param {string} endedHolder
 */
function removeStaleLock(file, endedHolder) {
  const movedFile = `${file}.${process.pid}`
  try {
    renameSync(file, movedFile)
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return
    throw error
  }
  const holder = readHolder(movedFile)
  if (holder !== undefined && holder !== endedHolder) createLock(file, holder)
  rmSync(movedFile, { force: true })
}

/** @param {unknown} error */
function readErrorCode(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

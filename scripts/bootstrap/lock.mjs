import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { Refusal } from './machine.mjs'

/**
 * Takes a lock between processes of one machine: a symbolic link whose target names its holder, because making one is
 * atomic and brings the name along. A holder that died without releasing is noticed and its lock taken over.
 *
 * @param {string} file
 * @param {{ waitSeconds: number, onWait?: () => void }} options `onWait` is called once, when another process holds it.
 * @returns {Promise<() => void>} the release
 * @throws {Refusal} when the holder still lives after `waitSeconds`.
 */
export async function takeLock(file, { waitSeconds, onWait }) {
  const self = `${process.pid}.${startOf(process.pid)}`
  const deadline = Date.now() + waitSeconds * 1000
  for (let waited = false; ; waited = true) {
    if (make(file, self)) return () => void (holderOf(file) === self && rmSync(file, { force: true }))
    const holder = holderOf(file)
    if (holder !== undefined && !isAlive(holder)) {
      takeAway(file, holder)
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
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** @param {string} file @returns {string | undefined} */
function holderOf(file) {
  try {
    return readlinkSync(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** A process number may be used again, so the moment of its start is part of the name. @param {string} holder */
function isAlive(holder) {
  const [pid = '', start] = holder.split('.')
  return startOf(pid) === start
}

/** In clock ticks since the machine's own start. @param {string | number} pid @returns {string} '' when there is none */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

/** Moves before it deletes: of several that saw the dead holder, one wins, and nobody deletes a newer lock. @param {string} file @param {string} dead */
function takeAway(file, dead) {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  const moved = holderOf(aside)
  if (moved !== undefined && moved !== dead) make(file, moved)
  rmSync(aside, { force: true })
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

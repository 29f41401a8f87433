import { execFileSync } from 'node:child_process'
import { cpus, setPriority, totalmem } from 'node:os'

/** A command under which a process runs on the core for servers. `taskset` becomes the process. */
export const ON_SERVER_CORE = ['taskset', '--cpu-list', '0']
const LOAD_CORE = 1

/** Of all that is started here, as against what else runs on the machine. */
const HIGH_PRIORITY = -10

/** What the figures depend on, without a word of whose machine it is. */
export interface Machine {
  readonly cores: number
  readonly processor: string
  readonly memoryGb: number
  readonly node: string
  readonly platform: string
}

export function describeMachine(): Machine {
  const all = cpus()
  return {
    cores: all.length,
    processor: all[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}

/**
 * Keeps this process, all its threads and what it starts from now on, on the core for stores and load.
 *
 * @throws {Error} when the machine has one core only, or no `taskset` (Debian: util-linux)
 */
export function moveToLoadCore(): void {
  if (cpus().length < 2) throw new Error('Two cores are needed: one for the server, one for stores and load.')
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(LOAD_CORE), String(process.pid)], {
    stdio: 'ignore',
  })
  try {
    setPriority(HIGH_PRIORITY)
  } catch {
    // Root alone may. What else runs on the machine then disturbs more.
  }
}

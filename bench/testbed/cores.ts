import { execFileSync } from 'node:child_process'
import { cpus, setPriority, totalmem } from 'node:os'

/** Where what is measured runs, and where everything else does: stores and load. */
const SERVER_CORE = 0
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

/** A command that runs on the core for servers. `taskset` becomes the program, so the process id is the program's. */
export const onServerCore = (command: string, args: readonly string[]) => ({
  command: 'taskset',
  args: ['--cpu-list', String(SERVER_CORE), command, ...args],
})

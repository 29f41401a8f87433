import { execFileSync } from 'node:child_process'
import { cpus, setPriority, totalmem } from 'node:os'

/** A command prefix that pins a process to the server core, which the load and the stores do not use. */
export const ON_SERVER_CORE = ['taskset', '--cpu-list', '0']
const LOAD_CORE = 1

/** The nice value of this process and, by inheritance, of those that it starts. -20 is the highest priority; 0 is usual. */
const HIGH_PRIORITY = -10

/** The properties of the machine on which the figures depend, without its name. */
export interface Machine {
  readonly cores: number
  readonly processor: string
  readonly memoryGb: number
  readonly node: string
  readonly platform: string
}

/** Reads the properties of this machine. */
export function describeMachine(): Machine {
  const processors = cpus()
  return {
    cores: processors.length,
    processor: processors[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}

/** Raises the priority of this process, and of the processes that it starts later, if the system permits it. */
export function raisePriority(): void {
  try {
    setPriority(HIGH_PRIORITY)
  } catch {
    // Only root may raise the priority. Without it, other work on the machine disturbs the bench more.
  }
}

/**
 * Moves this process, its threads and the processes that it starts later to the core for stores and load.
 *
 * @throws {Error} if the machine has only one core, or no `taskset` (in Debian's package util-linux)
 */
export function moveToLoadCore(): void {
  if (cpus().length < 2) throw new Error('Two cores are needed: one for the server, one for stores and load.')
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(LOAD_CORE), String(process.pid)], {
    stdio: 'ignore',
  })
}

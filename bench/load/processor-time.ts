import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Reads how long the current threads of a process have run on a processor, in milliseconds (Linux schedstat). Threads that have
 * ended are not included.
 *
 * @throws an error of the file system if the process has ended
 */
export function readProcessorMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6
}

/** Lists the processes that the main thread of a process has started and that still run. */
export function listChildProcesses(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

/** Reads the resident memory of a process (`VmRSS`) and its peak since the last reset (`VmHWM`), in bytes. */
export function readMemory(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const readKilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  return { now: readKilobytes('VmRSS') * 1024, peak: readKilobytes('VmHWM') * 1024 }
}

/** Resident memory in bytes: when idle, and the peak under load. */
export interface Memory {
  readonly idle: number
  readonly underLoad: number
}

/** The time after which a started app is idle. */
const SETTLE_MS = 3_000

/**
 * Waits until an app that has received no request is idle (3 s), and measures its memory. Returns a function that also reads the
 * peak since then.
 */
export async function watchMemory(app: { readonly pid: number }): Promise<() => Memory> {
  await sleep(SETTLE_MS)
  const idle = readMemory(app.pid).now
  // Resets the peak (proc(5): clear_refs).
  writeFileSync(`/proc/${app.pid}/clear_refs`, '5')
  return () => ({ idle, underLoad: readMemory(app.pid).peak })
}

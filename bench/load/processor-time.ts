import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The clock tick of Linux on every platform of Node is 10 ms (USER_HZ, proc(5)). */
const TICK_MS = 10

/** Reads the processor time of a process since its start in user and system mode, in milliseconds. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program may contain blanks; the fields after it do not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** Reads the resident memory of a process (`VmRSS`) and its peak since the last reset (`VmHWM`), in bytes. */
export function readMemory(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  return { now: kilobytes('VmRSS') * 1024, peak: kilobytes('VmHWM') * 1024 }
}

/** Resident memory in bytes: at rest, and the peak under load. */
export interface Memory {
  readonly idle: number
  readonly underLoad: number
}

/** The time until an app is at rest after its start. */
const SETTLE_MS = 3_000

/** Measures memory at rest. Call it before the first request. Returns a function that reads the peak since then. */
export async function watchMemory(app: { readonly pid: number }): Promise<() => Memory> {
  await sleep(SETTLE_MS)
  const idle = readMemory(app.pid).now
  // Resets the peak (proc(5): clear_refs).
  writeFileSync(`/proc/${app.pid}/clear_refs`, '5')
  return () => ({ idle, underLoad: readMemory(app.pid).peak })
}

import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Linux counts in hundredths of a second on every machine that Node runs on (USER_HZ, proc(5)). */
const TICK_MS = 10

/** @returns milliseconds that a process has computed since it began, in user and system mode */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program may hold blanks; what follows it does not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** @returns bytes of memory that a process occupies now (`VmRSS`) and at most since `forgetPeak` (`VmHWM`) */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  return { now: kilobytes('VmRSS') * 1024, peak: kilobytes('VmHWM') * 1024 }
}

/** Bytes of resident memory: at rest, and at most under load. */
export interface Memory {
  readonly idle: number
  readonly underLoad: number
}

/** What an app needs to come to rest after its start. */
const SETTLE_MS = 3_000

/** Call it before the load, when the app has not answered anything. @returns reads the peak since then */
export async function watchMemory(app: { readonly pid: number }): Promise<() => Memory> {
  await sleep(SETTLE_MS)
  const idle = memoryOf(app.pid).now
  // Forgets the peak of the start (proc(5): clear_refs).
  writeFileSync(`/proc/${app.pid}/clear_refs`, '5')
  return () => ({ idle, underLoad: memoryOf(app.pid).peak })
}

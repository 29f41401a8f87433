import { readFileSync } from 'node:fs'

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

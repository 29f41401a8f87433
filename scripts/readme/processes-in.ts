import { readdirSync, readFileSync } from 'node:fs'

export interface Process {
  readonly pid: number
  readonly command: string
}

/** The processes whose command line names a folder: what was started from it, or on it. */
export function processesIn(folder: string): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({ pid: Number(name), command: commandOf(name) }))
    .filter(({ command }) => command.includes(folder))
}

export function killAll(processes: readonly Process[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

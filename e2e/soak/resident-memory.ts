import { readFile } from 'node:fs/promises'

/** Reads the resident memory of a process in MB (proc(5), `VmRSS`). Returns 0 if the process does not exist. */
export async function readResidentMegabytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return Math.round(Number(kilobytes ?? 0) / 1_024)
}

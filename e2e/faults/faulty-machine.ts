import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SOURCE = fileURLToPath(new URL('faulty-machine.c', import.meta.url))

/** The machine as one process sees it, at first without faults. */
export interface Machine {
  /** The environment variables with which the process must be started. */
  readonly environment: Readonly<Record<string, string>>
  /** @param faults.clockMs how far the wall clock is ahead @param faults.noNames true when no name is resolved */
  set(faults: { clockMs?: number; noNames?: boolean }): void
}

/** Compiles the library that is preloaded into the processes. */
export async function faultyMachines(folder: string): Promise<{ of(name: string): Machine }> {
  await mkdir(folder, { recursive: true })
  const library = path.join(folder, 'faulty-machine.so')
  await run('gcc', ['-shared', '-fPIC', '-O2', '-Wall', '-o', library, SOURCE, '-ldl'])
  const machines = new Map<string, Machine>()
  return {
    of(name) {
      const machine = machines.get(name) ?? newMachine(library, path.join(folder, `${name}.machine`))
      machines.set(name, machine)
      return machine
    },
  }
}

function newMachine(library: string, file: string): Machine {
  const set: Machine['set'] = ({ clockMs = 0, noNames = false }) => {
    const state = Buffer.alloc(16)
    state.writeBigInt64LE(BigInt(Math.round(clockMs * 1_000)), 0)
    state.writeBigInt64LE(noNames ? 1n : 0n, 8)
    // Written in place, because the process has mapped the file.
    writeFileSync(file, state, { flag: started ? 'r+' : 'w' })
    started = true
  }
  let started = false
  set({})
  return { environment: { LD_PRELOAD: library, FAULTY_MACHINE: file }, set }
}

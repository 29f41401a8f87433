import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SOURCE = fileURLToPath(new URL('faulty-machine.c', import.meta.url))

/** Controls the wall clock and the name resolution that one process sees, through a preloaded library. There are no faults at first. */
export interface Machine {
  /** The environment variables with which the process must be started. */
  readonly environment: Readonly<Record<string, string>>
  /**
   * Sets the faults, also while the process runs. Faults that are left out are cleared.
   *
   * @param faults.clockOffsetMs the time by which the wall clock is ahead; negative if it is behind
   * @param faults.isNameResolutionDown true if no host name can be resolved
   */
  setFaults(faults: { clockOffsetMs?: number; isNameResolutionDown?: boolean }): void
}

/**
 * Compiles the preloaded library. `getMachine` returns the machine of the process with a name, and creates it on the first call.
 *
 * @param folder for the library and the current faults of each machine; it is created if necessary
 */
export async function createFaultyMachines(folder: string): Promise<{ getMachine(name: string): Machine }> {
  await mkdir(folder, { recursive: true })
  const library = path.join(folder, 'faulty-machine.so')
  await run('gcc', ['-shared', '-fPIC', '-O2', '-Wall', '-o', library, SOURCE, '-ldl'])
  const machines = new Map<string, Machine>()
  return {
    getMachine(name) {
      const machine = machines.get(name) ?? createMachine(library, path.join(folder, `${name}.machine`))
      machines.set(name, machine)
      return machine
    },
  }
}

function createMachine(library: string, file: string): Machine {
  let hasStateFile = false
  const setFaults: Machine['setFaults'] = ({ clockOffsetMs = 0, isNameResolutionDown = false }) => {
    // `faulty-machine.c` reads two 64-bit integers: the clock offset in microseconds, and 1 if no name can be resolved or else 0.
    const state = Buffer.alloc(16)
    state.writeBigInt64LE(BigInt(Math.round(clockOffsetMs * 1_000)), 0)
    state.writeBigInt64LE(isNameResolutionDown ? 1n : 0n, 8)
    // The file is overwritten in place, because the process has mapped it.
    writeFileSync(file, state, { flag: hasStateFile ? 'r+' : 'w' })
    hasStateFile = true
  }
  setFaults({})
  return { environment: { LD_PRELOAD: library, FAULTY_MACHINE: file }, setFaults }
}

/*
 * A process imports this module before its program, so that the program needs no hook for tests. On SIGUSR2, it causes
 * the fault that it reads from the file whose path is in FAULTY_PROCESS.
 */
import { readFileSync } from 'node:fs'

/** `block` blocks the event loop for 2 s, without using the processor. `leak` leaks 2 MB every 10 ms from then on. */
export type ProcessFault = 'block' | 'leak'

export const BLOCKED_MS = 2_000

const leakedArrays: number[][] = []

const FAULT_ACTIONS: Record<ProcessFault, () => void> = {
  block() {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
  },
  leak() {
    setInterval(() => leakedArrays.push(Array<number>(250_000).fill(0.5)), 10)
  },
}

const file = process.env['FAULTY_PROCESS']
if (file) process.on('SIGUSR2', () => FAULT_ACTIONS[readFileSync(file, 'utf8') as ProcessFault]())

/**
 * This module is imported into a process before its program, so that the program needs no hook for tests. On SIGUSR2, it performs
 * the `Misdeed` that the file FAULTY_PROCESS names.
 */
import { readFileSync } from 'node:fs'

/** `block` blocks the event loop for 2 s without using the processor. `leak` allocates 2 MB every 10 ms and keeps serving. */
export type Misdeed = 'block' | 'leak'

export const BLOCKED_MS = 2_000

const leaked: number[][] = []

const misdeeds: Record<Misdeed, () => void> = {
  block() {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
  },
  leak() {
    setInterval(() => leaked.push(Array<number>(250_000).fill(0.5)), 10)
  },
}

const file = process.env['FAULTY_PROCESS']
if (file) process.on('SIGUSR2', () => misdeeds[readFileSync(file, 'utf8') as Misdeed]())

/**
 * Imported into a process before its program: on SIGUSR2 it does what the file named in FAULTY_PROCESS says, a member of
 * `Misdeed`. So the program itself needs no hook for it.
 */
import { readFileSync } from 'node:fs'

/** `block` lets the event loop stand still for 2 s, leaving the processor to others; `leak` takes two more megabytes every hundredth of a second and goes on serving. */
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

let state = 1

/**
 * Seeds `random`. The seed determines the choices of a run, but not the timing of requests and faults.
 *
 * @throws {RangeError} if the seed is not an integer
 */
export function seedRandom(seed: number): void {
  if (!Number.isSafeInteger(seed)) throw new RangeError('The seed must be an integer')
  state = seed >>> 0
}

/** Returns a number that is at least 0 and less than 1 (mulberry32). */
export function random(): number {
  state = (state + 0x6d2b79f5) >>> 0
  let mixed = Math.imul(state ^ (state >>> 15), state | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

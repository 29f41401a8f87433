/** Creates a random-number generator that repeats its numbers for the same seed (mulberry32). */
export function createRandom(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** Returns a number from `min` up to `max`. */
    between: (min: number, max: number) => min + next() * (max - min),
    /** Returns a whole number from 0 up to `count` - 1. */
    below: (count: number) => Math.floor(next() * count),
    /** Returns true with the given probability. */
    happens: (probability: number) => next() < probability,
  }
}
export type Random = ReturnType<typeof createRandom>

/** Creates a virtual clock in milliseconds that advances from one scheduled action to the next. */
export function createVirtualTime() {
  let now = 0
  let serial = 0
  /** A binary heap, whose first element is the next action. */
  const heap: { at: number; serial: number; act(): void }[] = []
  /** Compares two elements by their time. Those of the same time keep the order in which they were scheduled. */
  const compare = (a: number, b: number) => heap[a]!.at - heap[b]!.at || heap[a]!.serial - heap[b]!.serial
  const swap = (a: number, b: number) => {
    const saved = heap[a]!
    heap[a] = heap[b]!
    heap[b] = saved
  }
  /** Moves the first element down to its place. */
  function sink(): void {
    for (let index = 0; ; ) {
      const children = [2 * index + 1, 2 * index + 2].filter((child) => child < heap.length)
      const earliest = children.reduce((best, child) => (compare(child, best) < 0 ? child : best), index)
      if (earliest === index) return
      swap(index, earliest)
      index = earliest
    }
  }
  /** Moves the last element up to its place. */
  function rise(): void {
    for (let index = heap.length - 1; index > 0; ) {
      const parent = (index - 1) >> 1
      if (compare(index, parent) >= 0) return
      swap(index, parent)
      index = parent
    }
  }
  return {
    now: () => now,
    /** Schedules an action. A time that has passed means now. */
    at(time: number, act: () => void): void {
      heap.push({ at: Math.max(time, now), serial: (serial += 1), act })
      rise()
    },
    /** Runs all actions up to the time `end`, including those that they schedule. The clock then shows `end`. */
    run(end: number): void {
      while (heap.length > 0 && heap[0]!.at <= end) {
        const next = heap[0]!
        const last = heap.pop()!
        if (heap.length > 0) {
          heap[0] = last
          sink()
        }
        now = next.at
        next.act()
      }
      now = end
    },
  }
}
export type VirtualTime = ReturnType<typeof createVirtualTime>

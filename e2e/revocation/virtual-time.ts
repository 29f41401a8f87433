/** Creates a random-number generator that repeats its numbers for the same seed (mulberry32). */
export function randomness(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (earliest: number, latest: number) => earliest + next() * (latest - earliest)
  return {
    between,
    below: (count: number) => Math.floor(next() * count),
    happens: (share: number) => next() < share,
  }
}
export type Randomness = ReturnType<typeof randomness>

/** Creates a virtual clock that advances from one scheduled action to the next. */
export function createVirtualTime() {
  let now = 0
  let serial = 0
  const heap: { at: number; serial: number; act(): void }[] = []
  const order = (a: number, b: number) => heap[a]!.at - heap[b]!.at || heap[a]!.serial - heap[b]!.serial
  const swap = (a: number, b: number) => {
    const saved = heap[a]!
    heap[a] = heap[b]!
    heap[b] = saved
  }
  function sink(): void {
    for (let at = 0; ; ) {
      const children = [2 * at + 1, 2 * at + 2].filter((child) => child < heap.length)
      const earliest = children.reduce((best, child) => (order(child, best) < 0 ? child : best), at)
      if (earliest === at) return
      swap(at, earliest)
      at = earliest
    }
  }
  return {
    now: () => now,
    at(when: number, act: () => void): void {
      heap.push({ at: Math.max(when, now), serial: (serial += 1), act })
      for (let at = heap.length - 1; at > 0 && order(at, (at - 1) >> 1) < 0; at = (at - 1) >> 1)
        swap(at, (at - 1) >> 1)
    },
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

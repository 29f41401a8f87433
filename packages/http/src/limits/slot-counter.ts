/** A limit of what may be in progress at the same time under a name. */
interface SlotLimit {
  readonly name: string
  readonly max: number
}

/** Creates a counter of what is in progress. Each use counts under several names. A name without uses is forgotten. */
export function createSlotCounter() {
  const slotCounts = new Map<string, number>()
  return {
    /**
     * Takes a slot under every name, or none if one of the names has no free slot.
     *
     * @returns the function that frees the slots, once; undefined if none was taken
     */
    take(limits: readonly SlotLimit[]): (() => void) | undefined {
      if (limits.some(({ name, max }) => (slotCounts.get(name) ?? 0) >= max)) return undefined
      for (const { name } of limits) slotCounts.set(name, (slotCounts.get(name) ?? 0) + 1)
      let isFreed = false
      return () => {
        if (isFreed) return
        isFreed = true
        for (const { name } of limits) {
          const remaining = (slotCounts.get(name) ?? 0) - 1
          if (remaining > 0) slotCounts.set(name, remaining)
          else slotCounts.delete(name)
        }
      }
    },
  }
}

/** Formats a number with its noun, such as `1 entry` or `2 entries`. */
export const formatCount = (total: number, noun: string, plural = `${noun}s`): string =>
  `${total} ${total === 1 ? noun : plural}`

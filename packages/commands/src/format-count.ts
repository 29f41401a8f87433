/** Formats a number with its noun, such as `1 entry` or `2 entries`. */
export const formatCount = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`

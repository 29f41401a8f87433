/** Latencies in milliseconds: the median, the 99th percentile and the maximum. NaN without samples. */
export interface Latency {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** Returns the smallest sample that at least a share `q` (0 to 1) of the samples does not exceed; NaN without samples. */
function quantile(sorted: Float64Array, q: number): number {
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))
  return sorted[index] ?? Number.NaN
}

/** Computes exact quantiles: each is one of the samples, with no averages or buckets. */
export function summarizeLatency(samples: readonly number[]): Latency {
  const sorted = Float64Array.from(samples).sort()
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), most: quantile(sorted, 1) }
}

/** The median, minimum and maximum of a figure over several rounds. */
export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

/** Computes the median and the range. The median of an even number of values is the mean of the middle two. */
export function summarizeSpread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [below, above] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return {
    median: ((below ?? Number.NaN) + (above ?? Number.NaN)) / 2,
    least: sorted[0] ?? Number.NaN,
    most: sorted.at(-1) ?? Number.NaN,
  }
}

/**
 * By default the seed is fixed, so that every version of the code gets the same requests. `npm run check:long` sets `ATTACK_RUNS`, so
 * its seed is random.
 */
const DEFAULT_SEED = 20_261_120
const DEFAULT_RUNS = 10

/** The fast-check parameters: the values of `ATTACK_RUNS` (for each property and target) and `ATTACK_SEED`. If only `ATTACK_RUNS` is set, the seed is random. */
export const RUN_PARAMETERS = {
  numRuns: Number(process.env['ATTACK_RUNS'] ?? DEFAULT_RUNS),
  seed: Number(
    process.env['ATTACK_SEED'] ??
      (process.env['ATTACK_RUNS'] ? Math.floor(Math.random() * 2 ** 31) : DEFAULT_SEED),
  ),
}

/**
 * A minute, and 100 ms for each of the `numRuns` runs of a property against each of at most 20 targets. A run usually takes
 * about 10 ms.
 */
export const TIMEOUT_MS = 60_000 + RUN_PARAMETERS.numRuns * 20 * 100

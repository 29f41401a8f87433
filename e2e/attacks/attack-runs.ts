/** By default the seed is fixed, so that every version of the code gets the same requests. `npm run check:long` generates more. */
const DEFAULT_SEED = 20_261_120
const DEFAULT_RUNS = 25

/** The values of `ATTACK_RUNS` (per property) and `ATTACK_SEED`. If only `ATTACK_RUNS` is set, the seed is random. */
export const RUN_PARAMETERS = {
  numRuns: Number(process.env['ATTACK_RUNS'] ?? DEFAULT_RUNS),
  seed: Number(
    process.env['ATTACK_SEED'] ??
      (process.env['ATTACK_RUNS'] ? Math.floor(Math.random() * 2 ** 31) : DEFAULT_SEED),
  ),
}

/** Each property runs `numRuns` times against each of ten operations. A run takes about 10 ms, and 200 ms on a busy machine. */
export const TIMEOUT_MS = 60_000 + RUN_PARAMETERS.numRuns * 10 * 200

/** Each change must meet the same requests. `npm run check:long` makes more of them. */
const SEED = 20_261_120
const RUNS = 25

/** From `ATTACK_RUNS` (per property) and `ATTACK_SEED`; with the former alone the seed is another each time. */
export const RUN = {
  numRuns: Number(process.env['ATTACK_RUNS'] ?? RUNS),
  seed: Number(
    process.env['ATTACK_SEED'] ?? (process.env['ATTACK_RUNS'] ? Math.floor(Math.random() * 2 ** 31) : SEED),
  ),
}

/** A property runs so often against each of ten operations; each time takes some 10 ms, on a busy machine 200. */
export const TIMEOUT_MS = 60_000 + RUN.numRuns * 10 * 200

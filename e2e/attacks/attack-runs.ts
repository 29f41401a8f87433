/** The fixed seed gives each change the same requests. `npm run check:long` generates more of them. */
const SEED = 20_261_120
const RUNS = 25

/** The values of `ATTACK_RUNS` (per property) and `ATTACK_SEED`. With only the former, the seed is random. */
export const RUN = {
  numRuns: Number(process.env['ATTACK_RUNS'] ?? RUNS),
  seed: Number(
    process.env['ATTACK_SEED'] ?? (process.env['ATTACK_RUNS'] ? Math.floor(Math.random() * 2 ** 31) : SEED),
  ),
}

/** Each property runs `numRuns` times against each of ten operations. A run takes about 10 ms, and 200 ms on a busy machine. */
export const TIMEOUT_MS = 60_000 + RUN.numRuns * 10 * 200

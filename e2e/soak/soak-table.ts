import { cpus } from 'node:os'
import type { SoakResult } from './run-soak.ts'

const PARTS = 6
/** The maximum growth from the third part to the last. Less growth is noise of the garbage collector. */
const MAX_GROWTH = 1.15

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Returns the medians of equal parts of the run. */
const computePartMedians = (samples: readonly number[]): number[] =>
  Array.from({ length: PARTS }, (_, part) =>
    median(
      samples.slice(
        Math.floor((part * samples.length) / PARTS),
        Math.ceil(((part + 1) * samples.length) / PARTS),
      ),
    ),
  )

/** The first process of each app is never killed. */
const isNeverKilled = (name: string) => name.endsWith('-1')

/** Returns whether the memory in the last part of the run exceeds that in the third part by at most `MAX_GROWTH`. */
export function isFlat(samples: readonly number[]): boolean {
  const [, , early = 0, , , late = 0] = computePartMedians(samples)
  return late <= early * MAX_GROWTH
}

/** Returns whether nothing was wrong, lost or refused without a reason, and no process that was never killed grew. */
export const hasPassed = (result: SoakResult): boolean =>
  result.wrong.length + result.lost.length + result.refusedUnprovoked === 0 &&
  Object.entries(result.memory).every(([name, samples]) => !isNeverKilled(name) || isFlat(samples))

/** Formats the result as Markdown. */
export function renderSoakTable(result: SoakResult): string {
  const rows: [string, number][] = [
    ['requests', result.requests],
    ['refused with 503', result.refused],
    ['… while no process was away', result.refusedUnprovoked],
    ['wrong answers (R-LIN among them)', result.wrong.length],
    ['acknowledged and lost', result.lost.length],
    ['tokens ended', result.revocations],
    ['changes of the signing key', result.rotations],
    ['commands on keys that failed', result.failedCommands],
    ['processes killed', result.kills],
  ]
  const memory = Object.entries(result.memory).map(
    ([name, samples]) =>
      `| ${name}${isNeverKilled(name) ? '' : ' (killed at times)'} | ${computePartMedians(samples).join(' | ')} | ${formatFlatness(name, samples)} |`,
  )
  return [
    '| what | count |',
    '|---|---|',
    ...rows.map(([label, count]) => `| ${label} | ${count} |`),
    '',
    `| resident memory, MB, medians of ${PARTS} parts of the time | ${Array.from({ length: PARTS }, (_, n) => n + 1).join(' | ')} | flat |`,
    `|---|${'---|'.repeat(PARTS + 1)}`,
    ...memory,
  ].join('\n')
}

function formatFlatness(name: string, samples: readonly number[]): string {
  if (!isNeverKilled(name)) return ''
  return isFlat(samples) ? 'yes' : 'NO'
}

/** Renders the results page of a run. */
export function renderSoakDocument(
  result: SoakResult,
  { commit, minutes, rate }: { commit: string; minutes: number; rate: number },
): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), the load on the same ones`
  return `# The soak

Written by \`npm run soak\` on commit ${commit}: ${minutes} minutes at ${rate} requests a second on ${machine}, while keys
rotated, tokens were revoked and one process a minute was killed and started again.

${renderSoakTable(result)}
`
}

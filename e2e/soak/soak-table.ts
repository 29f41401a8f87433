import { cpus } from 'node:os'
import type { SoakResult } from './run-soak.ts'

/** The number of parts of a run whose memory is compared. */
const PART_COUNT = 6
/** The maximum growth, as a factor from the third part to the last. Less growth is noise of the garbage collector. */
const MAX_GROWTH = 1.15

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Returns the median of each of `PART_COUNT` equal parts of the run. */
const computePartMedians = (samples: readonly number[]): number[] =>
  Array.from({ length: PART_COUNT }, (_, part) =>
    median(
      samples.slice(
        Math.floor((part * samples.length) / PART_COUNT),
        Math.ceil(((part + 1) * samples.length) / PART_COUNT),
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
  result.wrong.length + result.lost.length + result.unprovokedRefusals === 0 &&
  Object.entries(result.memory).every(([name, samples]) => !isNeverKilled(name) || isFlat(samples))

/** Formats a result as Markdown: a table of the counts, and a table of the memory by process. */
export function renderSoakTable(result: SoakResult): string {
  const rows: [string, number][] = [
    ['requests', result.requests],
    ['refused with 503', result.refused],
    ['refused although every process was up', result.unprovokedRefusals],
    ['wrong responses, including violations of R-LIN', result.wrong.length],
    ['acknowledged changes that were lost', result.lost.length],
    ['tokens revoked', result.revocations],
    ['changes of the signing key', result.rotations],
    ['key commands that failed', result.failedCommands],
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
    `| resident memory, MB, medians of ${PART_COUNT} equal parts of the run | ${Array.from({ length: PART_COUNT }, (_, index) => index + 1).join(' | ')} | flat |`,
    `|---|${'---|'.repeat(PART_COUNT + 1)}`,
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
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), which also generated the load`
  return `# Soak test

Written by \`npm run soak\` on commit ${commit}: ${minutes} minutes at ${rate} requests a second on ${machine}, while keys
rotated, tokens were revoked and one process a minute was killed and started again.

${renderSoakTable(result)}
`
}

import { FAULT_NUMBERS, type FaultNumber, type FaultTest } from './fault-numbers.ts'
import { findFaultTests } from './fault-tests.ts'
import type { Goodput } from './goodput.ts'
import type { FaultResult, Traffic } from './run-fault.ts'
import type { TestResult } from './run-fault-tests.ts'

const COLUMN_TITLES = ['fault', 'requests', 'refused', 'wrong', 'lost', 'shed time', 'recovery']

/** Formats the results as a Markdown table, followed by a list of mistakes, losses, excused refusals and measured recoveries. */
export function formatFaultTable(results: readonly FaultResult[]): string {
  const mistakes = results.flatMap(({ fault, wrong, lost, excused }) => [
    ...[...wrong, ...lost].map((line) => `${fault}: ${line}`),
    ...(excused > 0
      ? [`${fault}: ${excused} refusals after a time-out or a stall, which a busy machine explains`]
      : []),
  ])
  const recoveries = results.flatMap(({ fault, goodput }) =>
    goodput ? [formatRecovery(fault, goodput)] : [],
  )
  const notes = [...mistakes, ...recoveries]
  const noteLines = notes.length === 0 ? [] : ['', ...notes.map((line) => `- ${line}`)]
  return [...formatMarkdownTable(COLUMN_TITLES, results.map(toFaultRow)), ...noteLines].join('\n')
}

/** Formats the results of tests as a Markdown table. */
export function formatTestTable(results: readonly TestResult[]): string {
  const rows = results.map(({ number, file, title, outcome }) => [
    `${number} ${FAULT_NUMBERS[number].fault}`,
    `${file}: ${title}`.replaceAll('|', '\\|'),
    outcome,
  ])
  return formatMarkdownTable(['fault', 'test', 'outcome'], rows, 3).join('\n')
}

const formatRecovery = (fault: string, { before, after, recoveredSeconds }: Goodput) =>
  `${fault}: ${before.toFixed(0)} good responses a second before the fault, and ${after.toFixed(0)} from ${recoveredSeconds.toFixed(1)} s after it`

function toFaultRow(result: FaultResult): string[] {
  const { shedSeconds, firstGoodSeconds } = result
  return [
    `${result.numbers.join(', ')} ${result.fault}`,
    String(result.requests),
    String(result.refused),
    String(result.wrong.length),
    String(result.lost.length),
    shedSeconds ? `${shedSeconds.half.toFixed(2)} / ${shedSeconds.all.toFixed(2)} s` : '–',
    firstGoodSeconds === undefined ? '–' : `${firstGoodSeconds.toFixed(2)} s`,
  ]
}

/**
 * Formats a Markdown table as lines.
 *
 * @param textColumns the number of left-aligned columns; the others contain figures
 */
function formatMarkdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns = 1,
): string[] {
  const widths = head.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  const padCell = (text: string, index: number) =>
    index < textColumns ? text.padEnd(widths[index] ?? 0) : text.padStart(widths[index] ?? 0)
  const formatRow = (cells: readonly string[]) => `| ${cells.map(padCell).join(' | ')} |`
  const rule = widths.map((width, index) =>
    index < textColumns ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`,
  )
  return [formatRow(head), `|${rule.join('|')}|`, ...rows.map(formatRow)]
}

/** Renders `RESULTS.md`: a row for every scenario and test that ran, and then the other tests of faults. */
export function renderResults(
  { results, tests }: { results: readonly FaultResult[]; tests: readonly TestResult[] },
  { commit, traffic }: { commit: string; traffic: Traffic },
): string {
  return `# What happens when something fails

Written by \`npm run faults\` on commit ${commit}. Each fault lasted at least ${traffic.held} s, with at least ${traffic.steady} s before it and ${traffic.recovery} s after it.
Meanwhile, ${traffic.rate} requests a second went through the gateway to two processes of each app: registrations, tokens, revocations,
deletions, reads with live and with revoked tokens, the waitlist, guides and documents. A connection that lost bytes stays
silent after the fault, until an app detects that and closes it. Nothing is restarted except what the fault itself stopped.

- *refused*: 503 with \`Retry-After\`, in the error format of the endpoint, from an operation that needs what failed.
- *wrong*: any other failure; a refusal before the fault, or later than 5 s after it (15 s if clients retry); a response
  that took more than 5 s (up to 9 s where the gateway waits for a process); a token that was accepted by a request which
  began after the revocation of the token was acknowledged (R-LIN); a process that exited.
- *lost*: acknowledged changes (agents, tokens, addresses, revocations) that are gone. Tokens issued before Redis lost its
  memory do not count, because a loss of Redis may log agents out.
- *shed time*: how long refused requests waited for the refusal: half of them / all of them.
- *recovery*: the time from the end of the fault to the first good response, for the operation that took longest.

${formatFaultTable(results)}

## Faults that do not concern a running stack

Tests cover these faults. The same run ran the tests:

${formatTestTable(tests)}

## Other tests of the faults

Besides their scenarios, many faults have tests. \`npm test\` and \`npm run test:system\` run them. This run did not.

| fault | test |
|---|---|
${[...findFaultTests()]
  .filter(([number]) => !tests.some((each) => each.number === number))
  .flatMap(toOtherTestRows)
  .join('\n')}
`
}

/** Formats the row of a fault with a link to each of its tests. Returns no row if the fault has no test. */
function toOtherTestRows([number, tests]: [FaultNumber, readonly FaultTest[]]): string[] {
  if (tests.length === 0) return []
  const links = tests.map(({ file, title }) => `[${file}](../../${file}): ${title.replaceAll('|', '\\|')}`)
  return [`| ${number} ${FAULT_NUMBERS[number].fault} | ${links.join('<br>')} |`]
}

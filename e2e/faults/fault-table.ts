import { FAULT_NUMBERS, type FaultNumber, type FaultTest } from './fault-numbers.ts'
import { faultTests } from './fault-tests.ts'
import type { Goodput } from './goodput.ts'
import type { FaultResult, Traffic } from './run-fault.ts'
import type { TestResult } from './run-fault-tests.ts'

const HEAD = ['fault', 'requests', 'refused', 'wrong', 'lost', 'shed time', 'recovery']

/** Formats the results as a Markdown table, followed by what was wrong and what was lost. */
export function faultTable(results: readonly FaultResult[]): string {
  const mistakes = results.flatMap(({ fault, wrong, lost, excused }) => [
    ...[...wrong, ...lost].map((what) => `${fault}: ${what}`),
    ...(excused > 0 ? [`${fault}: ${excused} refused after a time-out, by a machine that is too busy`] : []),
  ])
  const recovered = results.flatMap(({ fault, goodput }) => (goodput ? [recovery(fault, goodput)] : []))
  const notes = [...mistakes, ...recovered]
  const beneath = notes.length === 0 ? [] : ['', ...notes.map((line) => `- ${line}`)]
  return [...markdownTable(HEAD, results.map(tableRow)), ...beneath].join('\n')
}

/** Formats the results of tests. */
export function testResultTable(results: readonly TestResult[]): string {
  const rows = results.map(({ number, file, title, outcome }) => [
    `${number} ${FAULT_NUMBERS[number].fault}`,
    `${file}: ${title}`.replaceAll('|', '\\|'),
    outcome,
  ])
  return markdownTable(['fault', 'test', 'outcome'], rows, 3).join('\n')
}

const recovery = (fault: string, { before, after, recoveredSeconds }: Goodput) =>
  `${fault}: ${before.toFixed(0)} good answers a second before, ${after.toFixed(0)} from ${recoveredSeconds.toFixed(1)} s after it on`

function tableRow(result: FaultResult): string[] {
  const { shedSeconds: shed, firstGoodSeconds: first } = result
  return [
    `${result.numbers.join(', ')} ${result.fault}`,
    String(result.requests),
    String(result.refused),
    String(result.wrong.length),
    String(result.lost.length),
    shed ? `${shed.half.toFixed(2)} / ${shed.all.toFixed(2)} s` : '–',
    first === undefined ? '–' : `${first.toFixed(2)} s`,
  ]
}

/** @param words the number of text columns, which come first; the others have figures */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], words = 1): string[] {
  const widths = head.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  const cell = (text: string, index: number) =>
    index < words ? text.padEnd(widths[index] ?? 0) : text.padStart(widths[index] ?? 0)
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  const rule = widths.map((width, index) =>
    index < words ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`,
  )
  return [line(head), `|${rule.join('|')}|`, ...rows.map(line)]
}

/** Writes `RESULTS.md`: a line for every scenario and test that ran, then the other tests of faults. */
export function faultDocument(
  { results, tests }: { results: readonly FaultResult[]; tests: readonly TestResult[] },
  { commit, traffic }: { commit: string; traffic: Traffic },
): string {
  return `# What happens when something fails

Made by \`npm run faults\` on commit ${commit}. Each fault lasted ${traffic.held} s, after ${traffic.steady} s and before at least ${traffic.recovery} s without one,
under ${traffic.rate} requests a second through the gateway to two processes of each app: registrations, tokens, revocations,
deletions, reads with live and with ended tokens, the waitlist, guides and documents. What a connection swallowed stays lost:
it is silent also when the fault is over, until an app finds out by itself and closes it. Nothing is restarted but what the
fault itself stopped.

- *refused*: 503 with \`Retry-After\` in the form of the endpoint, from an operation that needs what failed.
- *wrong*: any other failure; a refusal before the fault, or later than 5 s after it; an answer after more than 5 s (7 s
  where a process behind the gateway hangs); a token that was accepted by a request which began after its end was
  acknowledged (R-LIN); a process that ended.
- *lost*: what was acknowledged (agents, tokens, addresses, ends) and is not so any more. Tokens issued before Redis lost its
  memory do not count: losing Redis may log agents out.
- *shed time*: how long refused requests waited for it, half of them and all of them.
- *recovery*: from the end of the fault to the first good answer of the operation that took longest.

${faultTable(results)}

## Faults of no running stack

What a migration may do, and what is not there to be read, shows in tests. The same run ran them:

${testResultTable(tests)}

## Held by tests too

Beside its scenario, a fault has these; \`npm test\` and \`npm run test:system\` run them, this run did not.

| fault | test |
|---|---|
${[...faultTests()]
  .filter(([number]) => !tests.some((each) => each.number === number))
  .flatMap(testRow)
  .join('\n')}
`
}

function testRow([number, tests]: [FaultNumber, readonly FaultTest[]]): string[] {
  if (tests.length === 0) return []
  const named = tests.map(({ file, title }) => `[${file}](../../${file}): ${title.replaceAll('|', '\\|')}`)
  return [`| ${number} ${FAULT_NUMBERS[number].fault} | ${named.join('<br>')} |`]
}

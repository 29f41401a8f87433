import { type FaultResult, RATE } from './run-fault.ts'

const HEAD = [
  'fault',
  'requests',
  'refused as decided',
  'wrong',
  'lost',
  'seconds to the first good answer',
  'slowest answer',
]

/** The results as a Markdown table, and beneath it what was wrong and what was lost. */
export function faultTable(results: readonly FaultResult[]): string {
  const rows = results.map((result) => [
    result.fault,
    String(result.requests),
    String(result.refused),
    String(result.wrong.length),
    String(result.lost.length),
    result.firstGoodSeconds === undefined ? 'never' : result.firstGoodSeconds.toFixed(2),
    `${result.slowestSeconds.toFixed(2)} s`,
  ])
  const widths = HEAD.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, index) => (index === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  const mistakes = results.flatMap(({ fault, wrong, lost, excused }) => [
    ...[...wrong, ...lost].map((what) => `${fault}: ${what}`),
    ...(excused > 0 ? [`${fault}: ${excused} refused after a time-out, by a machine that is too busy`] : []),
  ])
  return [line(HEAD), rule, ...rows.map(line), ...mistakes].join('\n')
}

/** `docs/faults.md`. */
export function faultDocument(results: readonly FaultResult[], seconds: number): string {
  return `# What happens when a store fails

Each fault lasted ${seconds} seconds under ${RATE} requests a second through the gateway, to two processes of each app:
registrations, tokens, reads with tokens, revocations, waitlist joins, guides, documents. The last run gave this table;
\`npm run faults -- --write docs/faults.md\` makes it anew, and \`npm run test:system\` runs every fault, shorter.

What a fault swallowed stays lost: a connection that lost bytes is silent also when the fault is over, until an app finds
out by itself and closes it. Nothing is restarted but what the fault itself stopped.

- *refused as decided*: 503 with \`Retry-After\` in the form of the endpoint, from an operation that needs what failed.
- *wrong*: any other failure; a refusal before the fault, or later than 5 seconds after it; an answer after more than
  5 seconds (7 where a process behind the gateway hangs); a token that was accepted by a request which began after its
  end was acknowledged.
- *lost*: what was acknowledged (agents, tokens, addresses, ends) and is not so any more. Tokens issued before Redis
  lost its memory do not count: losing Redis may log agents out.

${faultTable(results)}
`
}

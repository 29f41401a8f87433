import type { ProcessorCost } from '../load/closed-loop.ts'
import { summarizeSpread } from '../load/quantiles.ts'
import type { PathCosts, PathSeries } from '../run-rounds.ts'
import type { Machine } from '../testbed/machine.ts'
import { computeFigures, formatSpread, type Verdict } from './judge.ts'

interface Report {
  readonly machine: Machine
  readonly date: Date
  readonly rounds: number
  readonly seconds: number
  readonly verdicts: readonly Verdict[]
}

/** Renders the results page of a run. */
export function renderReport(report: Report & { readonly series: readonly PathSeries[] }): string {
  return renderPage(
    report,
    `Each measurement of throughput or latency takes ${report.seconds} s.`,
    renderFigures(report.series),
  )
}

/** Renders the comparison with another commit. */
export function renderComparison(report: Report & { readonly costs: readonly PathCosts[] }): string {
  return renderPage(
    report,
    `In each round, each commit is measured for ${report.seconds} s, in alternating turns.`,
    renderCostTable(report.costs),
  )
}

function renderPage(
  { machine, date, rounds, verdicts }: Report,
  measurementText: string,
  figures: string,
): string {
  return `# Benchmark results, ${date.toISOString().slice(0, 10)}

${machine.cores} cores of ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}, ${machine.platform}.
${rounds} rounds. ${measurementText} Median (minimum–maximum). How to read it:
[bench/README.md](../README.md).

${renderTable(
  ['path', 'compared with, or figure', 'target', 'ratio or value', 'throughput ratio', 'target met'],
  verdicts.map((verdict) => [
    verdict.path,
    verdict.against,
    verdict.target,
    verdict.measured,
    verdict.throughput ?? '–',
    formatOutcome(verdict.isMet),
  ]),
)}

## Figures

Absolute figures are valid only for this machine on that day. They say nothing about other machines.

${figures}
`
}

/** Formats whether a target was met; undefined means that there is no target. */
export function formatOutcome(isMet: boolean | undefined): string {
  if (isMet === undefined) return '–'
  return isMet ? 'yes' : '**no**'
}

function renderCostTable(pathCosts: readonly PathCosts[]): string {
  const formatMicros = (costs: readonly ProcessorCost[]) =>
    formatSpread(summarizeSpread(costs.map(({ processorMicros }) => processorMicros)), 0)
  return renderTable(
    ['path', 'CPU µs per response', 'CPU µs per response at the other commit'],
    pathCosts.map(({ path, rounds }) => [
      path.title,
      formatMicros(rounds.map(({ ours }) => ours)),
      formatMicros(rounds.map(({ other }) => other)),
    ]),
  )
}

function renderFigures(pathSeries: readonly PathSeries[]): string {
  const rows = pathSeries.flatMap(({ path, ours, baselineSeries }) =>
    [ours, ...baselineSeries].map((series) => {
      const figures = computeFigures(series)
      const name = [path.title, series.name === 'ours' ? 'Plainpath' : `\`${series.name}\``]
      if (!figures.isValid) return [...name, `no figure: ${figures.reason}`, '', '', '', '']
      return [
        ...name,
        formatSpread(figures.perSecond, 0),
        `${formatSpread(figures.processorMicros, 0)}${series.isSteady ? '' : ', not steady at first'}`,
        figures.latency ? formatSpread(figures.latency.p50, 1) : 'no figure: the generator was late',
        figures.latency ? formatSpread(figures.latency.p99, 1) : '',
        formatSpread(figures.lagP99, 1),
      ]
    }),
  )
  return renderTable(
    [
      'path',
      'server',
      'responses per second',
      'CPU µs per response',
      'p50 ms',
      'p99 ms',
      'generator lag p99 ms',
    ],
    rows,
  )
}

/** Renders a Markdown table. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const formatLine = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [formatLine(head), formatLine(head.map(() => '---')), ...rows.map(formatLine)].join('\n')
}

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
    `${report.seconds} s for each throughput and each latency`,
    renderFigures(report.series),
  )
}

/** Renders the comparison with another commit. */
export function renderCosts(report: Report & { readonly costs: readonly PathCosts[] }): string {
  return renderPage(report, `${report.seconds} s for each commit, in turns`, renderCostTable(report.costs))
}

function renderPage({ machine, date, rounds, verdicts }: Report, lengths: string, figures: string): string {
  return `# Bench of ${date.toISOString().slice(0, 10)}

${machine.cores} cores of ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}, ${machine.platform}.
${rounds} rounds of ${lengths}. Median (least–most). How to read it:
[bench/README.md](../README.md).

${renderTable(
  ['path', 'against', 'target', 'measured', 'throughput', 'held'],
  verdicts.map((verdict) => [
    verdict.path,
    verdict.against,
    verdict.target,
    verdict.measured,
    verdict.throughput ?? '–',
    formatHeld(verdict.isHeld),
  ]),
)}

## Figures

Absolute figures are those of this machine on that day, and say nothing of another.

${figures}
`
}

function formatHeld(isHeld: boolean | undefined): string {
  if (isHeld === undefined) return '–'
  return isHeld ? 'held' : '**not held**'
}

function renderCostTable(paths: readonly PathCosts[]): string {
  const formatMicros = (costs: readonly ProcessorCost[]) =>
    formatSpread(summarizeSpread(costs.map(({ processorMicros }) => processorMicros)), 0)
  return renderTable(
    ['path', 'µs of processor', 'µs of processor before'],
    paths.map(({ path, rounds }) => [
      path.name,
      formatMicros(rounds.map(({ ours }) => ours)),
      formatMicros(rounds.map(({ before }) => before)),
    ]),
  )
}

function renderFigures(paths: readonly PathSeries[]): string {
  const rows = paths.flatMap(({ path, ours, baselineSeries }) =>
    [ours, ...baselineSeries].map((series) => {
      const figures = computeFigures(series)
      const name = [path.name, series.name === 'ours' ? 'Plainpath' : `\`${series.name}\``]
      if (!figures.isValid) return [...name, `no figure: ${figures.reason}`, '', '', '', '']
      return [
        ...name,
        formatSpread(figures.perSecond, 0),
        `${formatSpread(figures.processorMicros, 0)}${series.isSteady ? '' : ', not steady at first'}`,
        figures.latency ? formatSpread(figures.latency.p50, 1) : 'no figure',
        figures.latency ? formatSpread(figures.latency.p99, 1) : 'the generator was late',
        formatSpread(figures.lagP99, 1),
      ]
    }),
  )
  return renderTable(
    ['path', 'server', 'answers a second', 'µs of processor', 'p50 ms', 'p99 ms', 'generator lag p99 ms'],
    rows,
  )
}

/** Renders a Markdown table. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const formatLine = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [formatLine(head), formatLine(head.map(() => '---')), ...rows.map(formatLine)].join('\n')
}

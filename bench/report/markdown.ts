import type { PathSeries } from '../run-rounds.ts'
import type { Machine } from '../testbed/machine.ts'
import { computeFigures, spreadText, type Verdict } from './judge.ts'

interface Report {
  readonly machine: Machine
  readonly date: Date
  readonly rounds: number
  readonly seconds: number
  readonly verdicts: readonly Verdict[]
  readonly series: readonly PathSeries[]
}

export function reportMarkdown(report: Report): string {
  const { machine, date, rounds, seconds } = report
  return `# Bench of ${date.toISOString().slice(0, 10)}

${machine.cores} cores of ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}, ${machine.platform}.
${rounds} rounds of ${seconds} s for each throughput and each latency. Median (least–most). How to read it:
[bench/README.md](../README.md).

${table(
  ['path', 'against', 'target', 'measured', 'held'],
  report.verdicts.map((verdict) => [
    verdict.path,
    verdict.against,
    verdict.target,
    verdict.measured,
    verdict.held === undefined ? '–' : verdict.held ? 'held' : '**not held**',
  ]),
)}

## Figures

Absolute figures are those of this machine on that day, and say nothing of another.

${figureTable(report.series)}
`
}

function figureTable(all: readonly PathSeries[]): string {
  const rows = all.flatMap(({ path, ours, beside }) =>
    [ours, ...beside].map((series) => {
      const figures = computeFigures(series)
      const name = [path.name, series.name === 'ours' ? 'Plainpath' : `\`${series.name}\``]
      if (!figures.ok) return [...name, `no figure: ${figures.why}`, '', '', '', '']
      return [
        ...name,
        spreadText(figures.perSecond, 0),
        spreadText(figures.processorMicros, 0),
        figures.latency ? spreadText(figures.latency.p50, 1) : 'no figure',
        figures.latency ? spreadText(figures.latency.p99, 1) : 'the generator was late',
        spreadText(figures.lagP99, 1),
      ]
    }),
  )
  return table(
    ['path', 'server', 'answers a second', 'µs of processor', 'p50 ms', 'p99 ms', 'generator lag p99 ms'],
    rows,
  )
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

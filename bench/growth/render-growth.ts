import type { AppName } from '@plainpath/metadata'
import { computeFigures, type Figures, formatSpread } from '../report/judge.ts'
import { formatOutcome, renderTable } from '../report/render-report.ts'
import type { PathSeries } from '../run-rounds.ts'
import type { Machine } from '../testbed/machine.ts'
import type { Size, TokensInRedis } from './fill-stores.ts'

/** The name of the series that measures a server without stores (the control). */
export const CONTROL = 'koa-bare'

/** The minimum ratio of a path's throughput to that at the first level. */
const MIN_SHARE = 0.9
/** The same for the control. Below it, the comparison is invalid, because the machine had become slower. */
const MIN_CONTROL_SHARE = 0.7
const MEGABYTE = 1024 ** 2

/** Renders the results page of a growth run. */
export function renderGrowth(report: {
  readonly machine: Machine
  readonly date: Date
  readonly rounds: number
  readonly seconds: number
  readonly levels: readonly Level[]
}): string {
  const { machine, date, rounds, seconds, levels } = report
  return `# Growth, ${date.toISOString().slice(0, 10)}

${machine.cores} cores of ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}, ${machine.platform}.
${rounds} rounds of ${seconds} s. Median (minimum–maximum). The last but one column compares the medians with those of the first
level; at least ${MIN_SHARE} is promised. Where a server without stores (\`koa-bare\`) did less than ${MIN_CONTROL_SHARE} of what it did
at first, other work ran on the machine, and there is no figure.

${renderTable(
  ['path', 'rows', 'responses per second', 'p99 ms', '× the first level', 'target met'],
  levels.flatMap((level) => listPathRows(level, levels)),
)}

${renderTable(
  ['rows', 'auth MB', 'resource MB', 'Redis MB', 'bytes a token in Redis'],
  levels.map(({ rows, memory, redis }) => [
    formatCount(rows),
    formatMegabytes(memory.auth),
    formatMegabytes(memory.resource),
    formatMegabytes(memory.redis),
    redis.bytesPerToken.toFixed(0),
  ]),
)}

${renderTable(['table or index, MB', ...levels.map(({ rows }) => formatCount(rows))], listSizeRows(levels))}
`
}

/** Lists the table rows of a level, one for each path, and compares them with the first level. */
function listPathRows(level: Level, [firstLevel]: readonly Level[]): string[][] {
  return level.series.map(({ path, ours }) => {
    const figures = computeFigures(ours)
    const ratio = isUndisturbed(level, firstLevel)
      ? compareWithFirst(level, firstLevel, path.name)
      : undefined
    const isMet = ratio !== undefined && ratio >= MIN_SHARE
    return [
      path.title,
      formatCount(level.rows),
      figures.isValid ? formatSpread(figures.perSecond, 0) : `no figure: ${figures.reason}`,
      figures.isValid && figures.latency ? formatSpread(figures.latency.p99, 1) : 'no figure',
      ratio === undefined ? 'no figure' : ratio.toFixed(2),
      formatOutcome(path.name === CONTROL ? undefined : isMet),
    ]
  })
}

function findFigures(level: Level | undefined, pathName: string): Figures | undefined {
  const series = level?.series.find(({ path }) => path.name === pathName)
  return series && computeFigures(series.ours)
}

/** Returns the ratio of a path's median throughput to that at the first level; undefined if either has no figure. */
function compareWithFirst(level: Level, firstLevel: Level | undefined, pathName: string): number | undefined {
  const figures = findFigures(level, pathName)
  const firstFigures = findFigures(firstLevel, pathName)
  if (!figures?.isValid || !firstFigures?.isValid) return undefined
  return figures.perSecond.median / firstFigures.perSecond.median
}

/**
 * Returns whether the control had more than `MIN_CONTROL_SHARE` of its throughput at the first level. If not, other work slowed
 * the machine. A control without figures counts as disturbed.
 */
const isUndisturbed = (level: Level, firstLevel: Level | undefined) =>
  (compareWithFirst(level, firstLevel, CONTROL) ?? 0) > MIN_CONTROL_SHARE

function listSizeRows(levels: readonly Level[]): string[][] {
  const names = levels[0]?.sizes.map(({ name }) => name) ?? []
  return names.map((name) => [
    `\`${name}\``,
    ...levels.map(({ sizes }) => formatMegabytes(sizes.find((size) => size.name === name)?.bytes ?? 0)),
  ])
}

const formatCount = (rows: number) => rows.toLocaleString('en')
const formatMegabytes = (bytes: number) => (bytes / MEGABYTE).toFixed(1)

/** The measurements with `rows` agents, tokens in Redis and waitlist entries. */
export interface Level {
  readonly rows: number
  readonly series: readonly PathSeries[]
  /** Resident memory, in bytes. */
  readonly memory: Readonly<Record<AppName | 'redis', number>>
  readonly redis: TokensInRedis
  readonly sizes: readonly Size[]
}

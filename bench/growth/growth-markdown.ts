import type { AppName } from '@plainpath/metadata'
import { computeFigures, formatSpread } from '../report/judge.ts'
import { renderTable } from '../report/markdown.ts'
import type { PathSeries } from '../run-rounds.ts'
import type { Machine } from '../testbed/machine.ts'
import type { Size, TokensInRedis } from './fill-stores.ts'

/** The name of the series that measures a server without stores. */
export const CONTROL = 'koa-bare'

const MIN_SHARE = 0.9
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
${rounds} rounds of ${seconds} s. Median (least–most). The last but one column compares the medians with those of the first
level; at least ${MIN_SHARE} is promised. Where a server without stores (\`koa-bare\`) did less than ${MIN_CONTROL_SHARE} of what it did
at first, other work ran on the machine, and there is no figure.

${renderTable(
  ['path', 'rows', 'answers a second', 'p99 ms', 'of the first level', 'held'],
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

function listPathRows(level: Level, [firstLevel]: readonly Level[]): string[][] {
  return level.series.map(({ path, ours }) => {
    const figures = computeFigures(ours)
    const ratio = isAlone(level, firstLevel) ? compareWithFirst(level, firstLevel, path.name) : undefined
    return [
      path.title,
      formatCount(level.rows),
      figures.ok ? formatSpread(figures.perSecond, 0) : `no figure: ${figures.why}`,
      figures.ok && figures.latency ? formatSpread(figures.latency.p99, 1) : 'no figure',
      ratio === undefined ? 'no figure' : ratio.toFixed(2),
      path.name === CONTROL ? '–' : ratio !== undefined && ratio >= MIN_SHARE ? 'held' : '**not held**',
    ]
  })
}

const findSeries = ({ series }: Level, name: string) => series.find(({ path }) => path.name === name)?.ours

/** Returns the ratio of the median throughput to that of the first level. */
function compareWithFirst(level: Level, firstLevel: Level | undefined, name: string): number | undefined {
  const [current, initial] = [level, firstLevel]
    .map((each) => each && findSeries(each, name))
    .map((each) => each && computeFigures(each))
  return current?.ok && initial?.ok ? current.perSecond.median / initial.perSecond.median : undefined
}

/** Returns true if no other work slowed the machine: the server without stores is about as fast as at the first level. */
const isAlone = (level: Level, firstLevel: Level | undefined) =>
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

/** The measurements with `rows` agents, live tokens and waitlist entries. */
export interface Level {
  readonly rows: number
  readonly series: readonly PathSeries[]
  /** Resident memory, in bytes. */
  readonly memory: Readonly<Record<AppName | 'redis', number>>
  readonly redis: TokensInRedis
  readonly sizes: readonly Size[]
}

import type { AppName } from '@plainpath/metadata'
import { computeFigures, spreadText } from '../report/judge.ts'
import { table } from '../report/markdown.ts'
import type { PathSeries } from '../run-rounds.ts'
import type { Machine } from '../testbed/machine.ts'
import type { Size, TokensInRedis } from './fill-stores.ts'

/** The name of the series of the server without stores. */
export const CONTROL = 'koa-bare'

const AT_LEAST = 0.9
const LEAST_OF_CONTROL = 0.7
const MEGABYTE = 1024 ** 2

export function growthMarkdown(report: {
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
level; at least ${AT_LEAST} is promised. Where a server without stores (\`koa-bare\`) did less than ${LEAST_OF_CONTROL} of what it did
at first, other work ran on the machine, and there is no figure.

${table(
  ['path', 'rows', 'answers a second', 'p99 ms', 'of the first level', 'held'],
  levels.flatMap((level) => pathRows(level, levels)),
)}

${table(
  ['rows', 'auth MB', 'resource MB', 'Redis MB', 'bytes a token in Redis'],
  levels.map(({ rows, memory, redis }) => [
    count(rows),
    megabytes(memory.auth),
    megabytes(memory.resource),
    megabytes(memory.redis),
    redis.bytesPerToken.toFixed(0),
  ]),
)}

${table(['table or index, MB', ...levels.map(({ rows }) => count(rows))], sizeRows(levels))}
`
}

function pathRows(level: Level, [first]: readonly Level[]): string[][] {
  return level.series.map(({ path, ours }) => {
    const figures = computeFigures(ours)
    const ratio = isAlone(level, first) ? compareWithFirst(level, first, path.name) : undefined
    return [
      path.title,
      count(level.rows),
      figures.ok ? spreadText(figures.perSecond, 0) : `no figure: ${figures.why}`,
      figures.ok && figures.latency ? spreadText(figures.latency.p99, 1) : 'no figure',
      ratio === undefined ? 'no figure' : ratio.toFixed(2),
      path.name === CONTROL ? '–' : ratio !== undefined && ratio >= AT_LEAST ? 'held' : '**not held**',
    ]
  })
}

const findSeries = ({ series }: Level, name: string) => series.find(({ path }) => path.name === name)?.ours

/** Returns the ratio of the median throughput to that of the first level. */
function compareWithFirst(level: Level, first: Level | undefined, name: string): number | undefined {
  const [now, then] = [level, first]
    .map((each) => each && findSeries(each, name))
    .map((each) => each && computeFigures(each))
  return now?.ok && then?.ok ? now.perSecond.median / then.perSecond.median : undefined
}

/** Tells whether no other work ran on the machine: the server without stores is about as fast as at first. */
const isAlone = (level: Level, first: Level | undefined) =>
  (compareWithFirst(level, first, CONTROL) ?? 0) > LEAST_OF_CONTROL

function sizeRows(levels: readonly Level[]): string[][] {
  const names = levels[0]?.sizes.map(({ name }) => name) ?? []
  return names.map((name) => [
    `\`${name}\``,
    ...levels.map(({ sizes }) => megabytes(sizes.find((size) => size.name === name)?.bytes ?? 0)),
  ])
}

const count = (rows: number) => rows.toLocaleString('en')
const megabytes = (bytes: number) => (bytes / MEGABYTE).toFixed(1)

/** The measurements with a number of agents, live tokens and waitlist entries. */
export interface Level {
  readonly rows: number
  readonly series: readonly PathSeries[]
  /** Resident memory, in bytes. */
  readonly memory: Readonly<Record<AppName | 'redis', number>>
  readonly redis: TokensInRedis
  readonly sizes: readonly Size[]
}

import { type Spread, summarizeSpread } from '../load/quantiles.ts'
import { formatSpread } from '../report/judge.ts'
import { renderTable } from '../report/markdown.ts'
import type { Machine } from '../testbed/machine.ts'
import type { InstanceSeries, LoadUsage, StackReport } from './measure-load.ts'
import { countCommands, countScripts } from './redis-commands.ts'
import type { RevocationSeries } from './revocations-by-apis.ts'
import type { LimitSimulation } from './simulate-limits.ts'
import type { Part } from './start-instances.ts'

interface ScaleReport {
  readonly machine: Machine
  readonly date: Date
  readonly rounds: number
  readonly seconds: number
  readonly stacks: readonly StackReport[]
  readonly paths: readonly InstanceSeries[]
  readonly limitSimulations: readonly LimitSimulation[]
  readonly revocations: readonly RevocationSeries[]
}

const MEGABYTE = 1024 ** 2
/** How much more processor time a response may take than at one instance. */
const MAX_COST_RATIO = 1.25
const MAX_REVOCATION_MS = 20

/** Renders the results page of a scale run. */
export function renderScale(report: ScaleReport): string {
  const { machine, date, rounds, seconds, stacks, paths, limitSimulations, revocations } = report
  return `# Scale on one machine, ${date.toISOString().slice(0, 10)}

${machine.cores} cores of ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}, ${machine.platform}.
${rounds} rounds of ${seconds} s. Median (least–most). How to read it: [bench/README.md](../README.md).

## One, two and four instances of each app

All processes share the cores with the load, so throughput cannot rise with the number of instances. The cost is the processor time of
all processes of the stack for one response. It is compared with that of one instance in the same round; the target is at most ${MAX_COST_RATIO}.

${renderTable(
  ['path', 'instances', 'responses a second', 'µs of processor', 'of one instance', 'held'],
  paths.map((series) => renderCostRow(series, paths)),
)}

The same cost by part, in µs, and the commands that Redis ran for one response, with those that scripts called. Medians.

${renderTable(
  ['path', 'instances', 'auth', 'API', 'gateway', 'Redis', 'PostgreSQL', 'scripts', 'commands'],
  paths.map(renderPartRow),
)}

Without requests, in ms of processor a second, and the resident memory of all instances after the rounds:

${renderTable(
  ['instances', 'auth', 'API', 'gateway', 'Redis', 'PostgreSQL', 'all', 'memory MB'],
  stacks.map(renderStackRow),
)}

## Limits with up to 32 APIs

Computed with the apps' own code: one anonymous caller, whose reads the gateway spreads evenly. Each cell has the calls of Redis for one
read, the share of reads that wait for one, and the share that is refused although the caller does not exceed its quota.

${renderLimitTable(limitSimulations)}

## Revocations with up to 32 APIs

Simulated APIs subscribe in one process, and one instance of auth revokes tokens, 50 a second. The time is that of the whole request for
the revocation; the target is a p99 under ${MAX_REVOCATION_MS} ms. The other columns are for one revocation, with the renewals of leases meanwhile.

${renderTable(
  ['APIs', 'p50 ms', 'p99 ms', 'held', 'scripts', 'commands', 'µs auth', 'µs Redis', 'µs of each API'],
  revocations.map(renderRevocationRow),
)}
`
}

const computeCost = ({ processorMs, expectedResponses }: LoadUsage) =>
  (Object.values(processorMs).reduce((sum, ms) => sum + ms, 0) * 1_000) / expectedResponses

const summarizeRounds = <T>(rounds: readonly T[], compute: (round: T) => number): Spread =>
  summarizeSpread(rounds.map(compute))

/** Compares the cost in each round with that at one instance in the same round. */
export function compareWithOneInstance(series: InstanceSeries, paths: readonly InstanceSeries[]): Spread {
  const atOne = paths.find(({ name, instances }) => name === series.name && instances === 1)
  const ratios = series.rounds.map((usage, index) => {
    const one = atOne?.rounds[index]
    return one ? computeCost(usage) / computeCost(one) : Number.NaN
  })
  return summarizeSpread(ratios)
}

const computeThroughput = ({ expectedResponses, seconds }: LoadUsage) => expectedResponses / seconds

function renderCostRow(series: InstanceSeries, paths: readonly InstanceSeries[]): string[] {
  const { name, title, instances } = series
  const rounds = paths.filter((each) => each.name === name).flatMap((each) => each.rounds)
  const errorCount = rounds.reduce((sum, { errors }) => sum + errors, 0)
  if (errorCount > 0)
    return [title, String(instances), `no figure: ${errorCount} errors`, '', '', '**not held**']
  const ratio = compareWithOneInstance(series, paths)
  return [
    title,
    String(instances),
    formatSpread(summarizeRounds(series.rounds, computeThroughput), 0),
    formatSpread(summarizeRounds(series.rounds, computeCost), 0),
    formatSpread(ratio, 2),
    instances === 1 ? '–' : formatHeld(ratio.median <= MAX_COST_RATIO),
  ]
}

function renderPartRow(series: InstanceSeries): string[] {
  const formatPart = (part: Part) =>
    summarizeRounds(
      series.rounds,
      ({ processorMs, expectedResponses }) => (processorMs[part] * 1_000) / expectedResponses,
    ).median.toFixed(0)
  const formatCount = (count: typeof countCommands) =>
    summarizeRounds(
      series.rounds,
      ({ commands, expectedResponses }) => count(commands) / expectedResponses,
    ).median.toFixed(2)
  return [
    series.title,
    String(series.instances),
    formatPart('auth'),
    formatPart('api'),
    formatPart('gateway'),
    formatPart('redis'),
    formatPart('postgres'),
    formatCount(countScripts),
    formatCount(countCommands),
  ]
}

function renderStackRow({ instances, idle: { processorMs, seconds }, memory }: StackReport): string[] {
  const { auth, api, gateway, redis, postgres } = processorMs
  const all = Object.values(processorMs).reduce((sum, ms) => sum + ms, 0)
  return [
    String(instances),
    ...[auth, api, gateway, redis, postgres, all].map((ms) => (ms / seconds).toFixed(1)),
    (memory / MEGABYTE).toFixed(0),
  ]
}

function renderLimitTable(simulations: readonly LimitSimulation[]): string {
  const rates = [...new Set(simulations.map(({ readsPerMinute }) => readsPerMinute))]
  const rows = Map.groupBy(simulations, ({ apis }) => apis)
  const formatPercent = (share: number) => `${Math.round(share * 100)} %`
  return renderTable(
    ['APIs', ...rates.map((rate) => `${rate} reads a minute`)],
    [...rows].map(([apis, row]) => [
      String(apis),
      ...row.map(
        ({ callsPerRead, waitingShare, refusedShare }) =>
          `${callsPerRead.toFixed(2)}, ${formatPercent(waitingShare)}, ${formatPercent(refusedShare)}`,
      ),
    ]),
  )
}

function renderRevocationRow({ apis, rounds }: RevocationSeries): string[] {
  const fault = rounds.find((round) => round.fault)?.fault
  const p50 = summarizeRounds(rounds, ({ arrivals }) => arrivals.latency.p50)
  const p99 = summarizeRounds(rounds, ({ arrivals }) => arrivals.latency.p99)
  const formatMicros = (part: Part, divisor: number) =>
    summarizeRounds(
      rounds,
      ({ usage, arrivals }) => (usage.processorMs[part] * 1_000) / arrivals.answered / divisor,
    ).median.toFixed(0)
  const formatCount = (count: typeof countCommands) =>
    summarizeRounds(
      rounds,
      ({ usage, arrivals }) => count(usage.commands) / arrivals.answered,
    ).median.toFixed(1)
  return [
    String(apis),
    fault ? 'no figure' : formatSpread(p50, 1),
    fault ? `no figure: ${fault.what}` : formatSpread(p99, 1),
    formatHeld(!fault && p99.median < MAX_REVOCATION_MS),
    formatCount(countScripts),
    formatCount(countCommands),
    formatMicros('auth', 1),
    formatMicros('redis', 1),
    formatMicros('api', apis),
  ]
}

const formatHeld = (isHeld: boolean) => (isHeld ? 'held' : '**not held**')

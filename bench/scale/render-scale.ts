import { type Spread, summarizeSpread } from '../load/quantiles.ts'
import { formatSpread } from '../report/judge.ts'
import { formatOutcome, renderTable } from '../report/render-report.ts'
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
  /** Each path at each number of instances. */
  readonly paths: readonly InstanceSeries[]
  readonly limitSimulations: readonly LimitSimulation[]
  readonly revocations: readonly RevocationSeries[]
}

const MEBIBYTE = 1024 ** 2
/** The target: a response may cost at most this many times the processor time that it costs with one instance. */
const MAX_COST_RATIO = 1.25
/** The target for revocations: their 99th percentile must be below this. */
const MAX_REVOCATION_MS = 20

/** Renders the results page of a scale run. */
export function renderScale(report: ScaleReport): string {
  const { machine, date, rounds, seconds, stacks, paths: pathSeries, limitSimulations, revocations } = report
  return `# Scale on one machine, ${date.toISOString().slice(0, 10)}

${machine.cores} cores of ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}, ${machine.platform}.
${rounds} rounds of ${seconds} s. Median (minimum–maximum). How to read these tables: [bench/README.md](../README.md).

## One, two and four instances of each app

All processes share the cores with the load, so throughput cannot rise with the number of instances. The cost is the processor time of
all processes of the stack for one response. It is compared with that of one instance in the same round; the target is at most ${MAX_COST_RATIO}.

${renderTable(
  ['path', 'instances', 'responses per second', 'CPU µs per response', '× one instance', 'target met'],
  pathSeries.map((series) => renderCostRow(series, pathSeries)),
)}

The same cost by part, in µs, and the numbers of scripts and commands that Redis ran for each response. The commands include those that
scripts call. Medians.

${renderTable(
  ['path', 'instances', 'auth', 'API', 'gateway', 'Redis', 'PostgreSQL', 'scripts', 'commands'],
  pathSeries.map(renderPartRow),
)}

Idle: CPU time in ms per second, and the resident memory of all instances after the rounds:

${renderTable(
  ['instances', 'auth', 'API', 'gateway', 'Redis', 'PostgreSQL', 'all', 'memory MiB'],
  stacks.map(renderStackRow),
)}

## Limits with up to 32 API instances

Computed with the apps' own code: one anonymous caller, whose reads the gateway spreads evenly. Each cell has the calls to
Redis per read, the share of reads that wait for such a call, and the share refused although the caller does not exceed its quota.

${renderLimitTable(limitSimulations)}

## Revocations with up to 32 API instances

Simulated APIs subscribe in one process, and one instance of auth revokes tokens, 50 a second. The time is that of the whole request for
the revocation; the target is a p99 under ${MAX_REVOCATION_MS} ms. The other columns are per revocation, and include the lease renewals during the measurement.

${renderTable(
  ['APIs', 'p50 ms', 'p99 ms', 'target met', 'scripts', 'commands', 'µs auth', 'µs Redis', 'µs of each API'],
  revocations.map(renderRevocationRow),
)}
`
}

const computeCost = ({ processorMs, expectedResponses }: LoadUsage) =>
  (Object.values(processorMs).reduce((sum, ms) => sum + ms, 0) * 1_000) / expectedResponses

const summarizeRounds = <T>(rounds: readonly T[], compute: (round: T) => number): Spread =>
  summarizeSpread(rounds.map(compute))

/** Compares the cost in each round with that at one instance in the same round. */
export function compareWithOneInstance(
  series: InstanceSeries,
  pathSeries: readonly InstanceSeries[],
): Spread {
  const seriesAtOne = pathSeries.find(({ name, instances }) => name === series.name && instances === 1)
  const ratios = series.rounds.map((usage, index) => {
    const usageAtOne = seriesAtOne?.rounds[index]
    return usageAtOne ? computeCost(usage) / computeCost(usageAtOne) : Number.NaN
  })
  return summarizeSpread(ratios)
}

const computeThroughput = ({ expectedResponses, seconds }: LoadUsage) => expectedResponses / seconds

function renderCostRow(series: InstanceSeries, pathSeries: readonly InstanceSeries[]): string[] {
  const { name, title, instances } = series
  // An error at any number of instances leaves the path without figures.
  const roundsOfPath = pathSeries.filter((each) => each.name === name).flatMap((each) => each.rounds)
  const errorCount = roundsOfPath.reduce((sum, { errors }) => sum + errors, 0)
  if (errorCount > 0)
    return [title, String(instances), `no figure: ${errorCount} errors`, '', '', formatOutcome(false)]
  const ratio = compareWithOneInstance(series, pathSeries)
  return [
    title,
    String(instances),
    formatSpread(summarizeRounds(series.rounds, computeThroughput), 0),
    formatSpread(summarizeRounds(series.rounds, computeCost), 0),
    formatSpread(ratio, 2),
    formatOutcome(instances === 1 ? undefined : ratio.median <= MAX_COST_RATIO),
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
  const totalMs = Object.values(processorMs).reduce((sum, ms) => sum + ms, 0)
  return [
    String(instances),
    ...[auth, api, gateway, redis, postgres, totalMs].map((ms) => (ms / seconds).toFixed(1)),
    (memory / MEBIBYTE).toFixed(0),
  ]
}

function renderLimitTable(simulations: readonly LimitSimulation[]): string {
  const rates = [...new Set(simulations.map(({ readsPerMinute }) => readsPerMinute))]
  const simulationsByApis = Map.groupBy(simulations, ({ apis }) => apis)
  const formatPercent = (share: number) => `${Math.round(share * 100)} %`
  return renderTable(
    ['APIs', ...rates.map((rate) => `${rate} reads a minute`)],
    [...simulationsByApis].map(([apis, simulationsOfRow]) => [
      String(apis),
      ...simulationsOfRow.map(
        ({ callsPerRead, waitingShare, refusedShare }) =>
          `${callsPerRead.toFixed(2)}, ${formatPercent(waitingShare)}, ${formatPercent(refusedShare)}`,
      ),
    ]),
  )
}

function renderRevocationRow({ apiCount, rounds }: RevocationSeries): string[] {
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
    String(apiCount),
    fault ? 'no figure' : formatSpread(p50, 1),
    fault ? `no figure: ${fault.description}` : formatSpread(p99, 1),
    formatOutcome(!fault && p99.median < MAX_REVOCATION_MS),
    formatCount(countScripts),
    formatCount(countCommands),
    formatMicros('auth', 1),
    formatMicros('redis', 1),
    formatMicros('api', apiCount),
  ]
}

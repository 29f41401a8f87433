import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { compileApps } from '@plainpath/stack/start-app'
import { Command, InvalidArgumentError } from 'commander'
import { besideCommit } from './against.ts'
import { runGrowth } from './growth/run-growth.ts'
import { watchMemory } from './load/processor-time.ts'
import { GUIDE, GUIDES, measuredPaths } from './measured-paths.ts'
import { judgeAgainst, judgeAll, memoryVerdicts, revocationVerdict } from './report/judge.ts'
import { keepResult } from './report/keep-result.ts'
import { reportMarkdown } from './report/markdown.ts'
import { type Revocations, revokeSome, usesCache } from './revocation.ts'
import { runRounds } from './run-rounds.ts'
import { describeMachine, moveToLoadCore } from './testbed/machine.ts'
import { type AgentWithToken, makeAgents } from './testbed/make-agents.ts'
import { openStores } from './testbed/open-stores.ts'
import { startBaselines } from './testbed/start-baselines.ts'
import { type App, startMeasuredApp } from './testbed/start-measured-app.ts'

interface Options {
  readonly only?: string
  readonly rounds: number
  readonly seconds: number
  readonly growth: boolean
  readonly against?: string
  readonly profile?: string
  readonly node: string
}

/** The smallest number of rounds whose result is stored. */
const LEAST_ROUNDS = 5

const wholeNumber = (most: number) => (text: string) => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`)
}

const COMMAND = new Command('npm run bench --')
  .option(
    '--only <names>',
    'some paths, with commas between: guides, guide-bearer, guide-dpop, token, introspect, register, waitlist, revoke, memory',
  )
  .option(
    '--rounds <n>',
    `rounds of the alternation; with fewer than ${LEAST_ROUNDS} nothing is written to bench/results`,
    wholeNumber(100),
    5,
  )
  .option('--seconds <n>', 'how long each measurement takes', wholeNumber(600), 3)
  .option('--growth', 'with 1 000, 100 000 and 1 000 000 agents, tokens and waitlist entries instead', false)
  .option(
    '--against <commit>',
    'compares each path with the same one at another commit of this clone, by processor time, and writes nothing to bench/results',
  )
  .option(
    '--profile <folder>',
    'writes a CPU profile of each app there (*.cpuprofile), which the developer tools of a browser open',
  )
  .option(
    '--node <options>',
    'runs both apps under these options of Node, and writes nothing to bench/results',
    '',
  )

interface BenchRuntime {
  readonly folder: string
  readonly say: (line: string) => void
  /** Ends the run after the current measurement. */
  readonly signal: AbortSignal
}

const AGENTS = 1_000

/** Starts everything, measures, prints the result, and writes a complete one to `bench/results`. */
async function runBench(options: Options, runtime: BenchRuntime): Promise<void> {
  const { folder, say, signal } = runtime
  const profileFolder = options.profile && path.resolve(options.profile)
  const nodeOptions = options.node.split(' ').filter(Boolean)
  const startedAt = new Date()
  await using opening = new AsyncDisposableStack()
  say('Starting PostgreSQL, Redis, both apps and the baselines')
  const stores = opening.use(await openStores(folder))
  await compileApps(nodeOptions)
  const auth = opening.use(
    await startMeasuredApp(stores, { folder, profileFolder, nodeOptions, app: 'auth', number: 1 }),
  )
  const anApi = { folder, nodeOptions, app: 'resource', auth } as const
  const api = opening.use(await startMeasuredApp(stores, { ...anApi, profileFolder, number: 1 }))
  const memory = { auth: await watchMemory(auth), api: await watchMemory(api) }
  const baselines = opening.use(await startBaselines(stores, { api, paths: [GUIDES, GUIDE], folder }))
  const agents = await makeAgents(auth, AGENTS)
  const all = await measuredPaths({ auth, api, baselines, agents, stores })
  const only = options.only?.split(',')
  const isSelected = (name: string) => only === undefined || only.includes(name)
  const selected = all.filter(({ name }) => isSelected(name))

  if (options.against !== undefined) {
    say(`Starting both apps as they were at ${options.against}`)
    const parts = { baselines, agents, folder, nodeOptions }
    const { paths } = opening.use(await besideCommit(options.against, selected, parts))
    const series = await runRounds(paths, { ...options, say, signal })
    const verdicts = judgeAgainst(series, options.against)
    return say(
      `\n${reportMarkdown({ machine: describeMachine(), date: startedAt, ...options, verdicts, series })}`,
    )
  }
  const paths = selected
  if (options.growth) {
    const keeps = options.rounds >= LEAST_ROUNDS && only === undefined && !options.node
    const control = all[0]?.beside[0]
    if (!control) throw new Error('there is nothing to compare with')
    return await runGrowth(
      { stores, auth, api, paths, control },
      { ...options, keep: keeps, now: startedAt, say, signal },
    )
  }
  const series = await runRounds(paths, { ...options, say, signal })
  const another = isSelected('revoke')
    ? opening.use(await startMeasuredApp(stores, { ...anApi, number: 2 }))
    : undefined
  const apis = another ? [api, another] : [api]
  const usedCache = await usesCache(auth, apis, agents)
  const revocations = another ? await revokeInRounds({ auth, apis, agents }, options, runtime) : []
  const verdicts = [
    ...judgeAll(series, usedCache),
    ...(isSelected('revoke') ? [revocationVerdict(revocations, usedCache)] : []),
    ...(isSelected('memory') ? memoryVerdicts({ auth: memory.auth(), resource: memory.api() }) : []),
  ]
  const report = { machine: describeMachine(), date: startedAt, ...options, verdicts, series }
  say(`\n${reportMarkdown(report)}`)
  if (options.rounds >= LEAST_ROUNDS && options.only === undefined && !options.profile && !options.node)
    await keepResult(
      '',
      { ...report, revocations },
      { markdown: reportMarkdown(report), date: startedAt, say },
    )
}

async function revokeInRounds(
  parts: { auth: App; apis: readonly App[]; agents: readonly AgentWithToken[] },
  { rounds, seconds }: Options,
  { say, signal }: BenchRuntime,
): Promise<Revocations[]> {
  const all: Revocations[] = []
  for (let round = 1; round <= rounds; round += 1) {
    signal.throwIfAborted()
    const revoked = await revokeSome(parts, seconds)
    const { latency, lag } = revoked.arrivals
    say(
      `${round}/${rounds}  revoke  p50 ${latency.p50.toFixed(1)} p99 ${latency.p99.toFixed(1)} ms  lag p99 ${lag.p99.toFixed(1)} ms`,
    )
    all.push(revoked)
  }
  return all
}

const options = COMMAND.parse().opts<Options>()
moveToLoadCore()
// Stops in order, after the current measurement.
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-bench-'))
// For root the database server runs as another user, which must be able to enter its folder inside this one.
await chmod(folder, 0o755)
try {
  await runBench(options, { folder, say: (line) => console.log(line), signal: stopping.signal })
} finally {
  await rm(folder, { recursive: true, force: true })
}

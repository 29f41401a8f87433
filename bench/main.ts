import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkOutCommit } from '@plainpath/stack/check-out'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { compileApps } from '@plainpath/stack/start-app'
import { Command, InvalidArgumentError, Option } from 'commander'
import { runGrowth } from './growth/run-growth.ts'
import { watchMemory } from './load/processor-time.ts'
import { createMeasuredPaths, GUIDE, GUIDES } from './measured-paths.ts'
import { openCommitComparison } from './open-commit-comparison.ts'
import { judgeAgainst, judgeAll, judgeMemory, judgeRevocations } from './report/judge.ts'
import { renderComparison, renderReport } from './report/render-report.ts'
import { writeResult } from './report/write-result.ts'
import { checkCacheUse, measureRevocations, type Revocations } from './revocation.ts'
import { joinCosts, type PathCosts, runRounds, runRoundsInTurns } from './run-rounds.ts'
import { runScale } from './scale/run-scale.ts'
import { describeMachine, moveToLoadCore, raisePriority } from './testbed/machine.ts'
import { openStores } from './testbed/open-stores.ts'
import { type AgentWithToken, registerAgents } from './testbed/register-agents.ts'
import { startBaselines } from './testbed/start-baselines.ts'
import { type MeasuredApp, startMeasuredApp } from './testbed/start-measured-app.ts'

/** The parsed command line. `COMMAND` describes each option. */
interface Options {
  readonly only?: string
  readonly rounds: number
  readonly seconds: number
  readonly growth: boolean
  readonly scale: boolean
  readonly against?: string
  readonly profile?: string
  readonly node: string
}

/** The minimum number of rounds of a run whose result is stored. */
const MIN_STORED_ROUNDS = 5

const parseWholeNumber = (max: number) => (text: string) => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`)
}

const COMMAND = new Command('npm run bench --')
  .option(
    '--only <names>',
    'some paths, with commas between: guides, guide-bearer, guide-dpop, token, introspect, register, waitlist, answer, answer-worst, revoke, memory; with --scale: guides, guides-callers, guide-bearer, token, introspect, revoke, limits',
  )
  .option(
    '--rounds <n>',
    `rounds of the alternation; with fewer than ${MIN_STORED_ROUNDS} nothing is written to bench/results`,
    parseWholeNumber(100),
    5,
  )
  .option('--seconds <n>', 'how long each measurement takes', parseWholeNumber(600), 3)
  .option('--growth', 'with 1 000, 100 000 and 1 000 000 agents, tokens and waitlist entries instead', false)
  .addOption(
    new Option(
      '--scale',
      'with one, two and four instances of each app behind the gateway, and revocations with up to 32 APIs, instead',
    )
      .default(false)
      .implies({ seconds: 2 })
      .conflicts(['growth', 'against', 'profile']),
  )
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
  /** The temporary folder for stores, logs and responses. It is removed at the end. */
  readonly folder: string
  readonly print: (line: string) => void
  /** Ends the run after the current measurement. */
  readonly signal: AbortSignal
}

const AGENT_COUNT = 1_000

const parseNodeOptions = ({ node }: Options) => node.split(' ').filter(Boolean)
/** Returns whether a run measures all paths in enough rounds, without options of Node. Only such results are stored. */
const isCompleteRun = ({ rounds, only, node }: Options) =>
  rounds >= MIN_STORED_ROUNDS && only === undefined && !node
const isSelected = ({ only }: Options, name: string) => only === undefined || only.split(',').includes(name)

/** Starts the stores, both apps and the baselines, registers agents, and creates the paths. */
async function startTestbed(options: Options, { folder, print }: BenchRuntime) {
  const profileFolder = options.profile && path.resolve(options.profile)
  const nodeOptions = parseNodeOptions(options)
  await using opening = new AsyncDisposableStack()
  print('Starting PostgreSQL, Redis, both apps and the baselines')
  const stores = opening.use(await openStores(folder))
  await compileApps(nodeOptions)
  const auth = opening.use(
    await startMeasuredApp(stores, { folder, profileFolder, nodeOptions, app: 'auth', instanceNumber: 1 }),
  )
  const apiOptions = { folder, nodeOptions, app: 'resource', auths: [auth] } as const
  const api = opening.use(await startMeasuredApp(stores, { ...apiOptions, profileFolder, instanceNumber: 1 }))
  // Before the first request, because the idle memory is measured.
  const memoryReaders = { auth: await watchMemory(auth), api: await watchMemory(api) }
  const baselines = opening.use(await startBaselines(stores, { api, paths: [GUIDES, GUIDE], folder }))
  const agents = await registerAgents(auth, AGENT_COUNT)
  const allPaths = await createMeasuredPaths({ auth, api, baselines, agents, stores })
  const resources = opening.move()
  return {
    baselines,
    stores,
    auth,
    api,
    memoryReaders,
    agents,
    allPaths,
    paths: allPaths.filter(({ name }) => isSelected(options, name)),
    startAnotherApi: () => startMeasuredApp(stores, { ...apiOptions, instanceNumber: 2 }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const ROUNDS_PER_START = 3

/**
 * Compares both apps with those of another commit, and prints the result. Restarts everything every few rounds, since the same
 * code may take a sixth more processor time after one start than after another.
 */
async function runAgainst(commit: string, options: Options, runtime: BenchRuntime): Promise<void> {
  const { print, signal } = runtime
  const date = new Date()
  const root = path.join(runtime.folder, 'commit')
  checkOutCommit(fileURLToPath(new URL('..', import.meta.url)), commit, root)
  const costs: PathCosts[] = []
  for (let startedRounds = 0; startedRounds < options.rounds; startedRounds += ROUNDS_PER_START) {
    const folder = path.join(runtime.folder, `from-${startedRounds}`)
    await mkdir(folder)
    await using testbed = await startTestbed(options, { ...runtime, folder })
    print(`Starting both apps as they were at ${commit}`)
    await using comparison = await openCommitComparison(root, testbed.paths, {
      baselines: testbed.baselines,
      agentCount: AGENT_COUNT,
      folder,
      nodeOptions: parseNodeOptions(options),
    })
    const rounds = Math.min(ROUNDS_PER_START, options.rounds - startedRounds)
    costs.push(...(await runRoundsInTurns(comparison.paths, { ...options, rounds, print, signal })))
  }
  const joinedCosts = joinCosts(costs)
  const verdicts = judgeAgainst(joinedCosts, commit)
  print(
    `\n${renderComparison({ machine: describeMachine(), date, ...options, verdicts, costs: joinedCosts })}`,
  )
}

/** Starts everything, measures and prints the result. Writes a complete result to `bench/results`. */
async function runBench(options: Options, runtime: BenchRuntime): Promise<void> {
  const { print, signal } = runtime
  const startedAt = new Date()
  await using testbed = await startTestbed(options, runtime)
  const { stores, auth, api, paths, agents, memoryReaders } = testbed
  if (options.growth) {
    // The first baseline of the first path, `koa-bare`, needs no store.
    const control = testbed.allPaths[0]?.comparisons[0]
    if (!control) throw new Error('there is nothing to compare with')
    return await runGrowth(
      { stores, auth, api, paths, control },
      { ...options, shouldStore: isCompleteRun(options), now: startedAt, print, signal },
    )
  }
  const series = await runRounds(paths, { ...options, print, signal })
  await using secondApi = isSelected(options, 'revoke') ? await testbed.startAnotherApi() : undefined
  const apis = secondApi ? [api, secondApi] : [api]
  const isCacheUsed = await checkCacheUse(auth, apis, agents)
  const revocations = secondApi ? await revokeInRounds({ auth, apis, agents }, options, runtime) : []
  const verdicts = judgeAll(series, isCacheUsed)
  if (isSelected(options, 'revoke')) verdicts.push(judgeRevocations(revocations, isCacheUsed))
  if (isSelected(options, 'memory'))
    verdicts.push(...judgeMemory({ auth: memoryReaders.auth(), resource: memoryReaders.api() }))
  const report = { machine: describeMachine(), date: startedAt, ...options, verdicts, series }
  print(`\n${renderReport(report)}`)
  if (isCompleteRun(options) && !options.profile)
    await writeResult(
      '',
      { ...report, revocations },
      { markdown: renderReport(report), date: startedAt, print },
    )
}

/** Measures one, two and four instances of each app. */
const runScaleBench = (options: Options, runtime: BenchRuntime) =>
  runScale({
    ...runtime,
    rounds: options.rounds,
    seconds: options.seconds,
    nodeOptions: parseNodeOptions(options),
    isSelected: (name) => isSelected(options, name),
    shouldStore: isCompleteRun(options),
    now: new Date(),
  })

async function revokeInRounds(
  parts: { auth: MeasuredApp; apis: readonly MeasuredApp[]; agents: readonly AgentWithToken[] },
  { rounds, seconds }: Options,
  { print, signal }: BenchRuntime,
): Promise<Revocations[]> {
  const revocations: Revocations[] = []
  for (let round = 1; round <= rounds; round += 1) {
    signal.throwIfAborted()
    const measurement = await measureRevocations(parts, seconds)
    const { latency, lag } = measurement.arrivals
    print(
      `${round}/${rounds}  revoke  p50 ${latency.p50.toFixed(1)} p99 ${latency.p99.toFixed(1)} ms  lag p99 ${lag.p99.toFixed(1)} ms`,
    )
    revocations.push(measurement)
  }
  return revocations
}

const options = COMMAND.parse().opts<Options>()
raisePriority()
// With several instances, the servers and the load run on all cores.
if (!options.scale) moveToLoadCore()
// The first signal stops the run after the current measurement.
const stopController = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => stopController.abort(new Error(`stopped by ${signal}`)))
await using folder = await createTemporaryFolder('bench')
const runtime: BenchRuntime = {
  folder: folder.path,
  print: (line) => console.log(line),
  signal: stopController.signal,
}
if (options.scale) await runScaleBench(options, runtime)
else if (options.against === undefined) await runBench(options, runtime)
else await runAgainst(options.against, options, runtime)

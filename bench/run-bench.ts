import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { compileApps } from '@plainpath/stack/app-program'
import { runGrowth } from './growth/run-growth.ts'
import { GUIDE, GUIDES, measuredPaths } from './measured-paths.ts'
import { watchMemory } from './memory.ts'
import { LEAST_ROUNDS, type Options } from './options.ts'
import { printHotSpots } from './report/hot-spots.ts'
import { verdictsOf } from './report/judge.ts'
import { markdownOf, type Report } from './report/markdown.ts'
import { memoryVerdicts, revocationVerdict } from './report/other-verdicts.ts'
import { answersFromMemory, type Revocations, revokeSome } from './revocation.ts'
import { runRounds } from './run-rounds.ts'
import { describeMachine } from './testbed/cores.ts'
import { type AgentWithToken, makeAgents } from './testbed/make-agents.ts'
import { openStores } from './testbed/open-stores.ts'
import { type App, startApi, startAuth } from './testbed/start-apps.ts'
import { startBaselines } from './testbed/start-baselines.ts'

export interface Surroundings {
  readonly folder: string
  readonly say: (line: string) => void
  /** Ends the run after the measurement under way. */
  readonly signal: AbortSignal
}

const AGENTS = 1_000
const RESULTS = path.join(import.meta.dirname, 'results')

/** Starts everything, measures, prints, and writes what counts to `bench/results`. */
export async function runBench(options: Options, surroundings: Surroundings): Promise<void> {
  const { folder, say, signal } = surroundings
  const profileFolder = options.profile ? path.join(folder, 'profiles') : undefined
  const nodeOptions = options.node.split(' ').filter(Boolean)
  const starting = { folder, profileFolder, nodeOptions }
  const startedAt = new Date()
  {
    await using opening = new AsyncDisposableStack()
    say('Starting PostgreSQL, Redis, both apps and the baselines')
    const stores = opening.use(await openStores(folder))
    await compileApps(nodeOptions)
    const auth = opening.use(await startAuth(stores, starting))
    const api = opening.use(await startApi(stores, { ...starting, auth, number: 1 }))
    const memory = { auth: await watchMemory(auth), api: await watchMemory(api) }
    const baselines = opening.use(await startBaselines(stores, { api, paths: [GUIDES, GUIDE], folder }))
    const agents = await makeAgents(auth, AGENTS)
    const apiSecret = (await readFile(stores.env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8')).trim()
    const all = await measuredPaths({ auth, api, baselines, agents, stores, apiSecret })
    const only = options.only?.split(',')
    const wanted = (name: string) => only === undefined || only.includes(name)
    const paths = all.filter(({ name }) => wanted(name))

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
    const another = wanted('revoke')
      ? opening.use(await startApi(stores, { ...starting, profileFolder: undefined, auth, number: 2 }))
      : undefined
    const apis = another ? [api, another] : [api]
    const fromMemory = await answersFromMemory(auth, apis, agents)
    const revocations = another ? await revokeInRounds({ auth, apis, agents }, options, surroundings) : []
    const verdicts = [
      ...verdictsOf(series, fromMemory),
      ...(wanted('revoke') ? [revocationVerdict(revocations, fromMemory)] : []),
      ...(wanted('memory') ? memoryVerdicts({ auth: memory.auth.read(), resource: memory.api.read() }) : []),
    ]
    const report = { machine: describeMachine(), date: startedAt, ...options, verdicts, series }
    say(`\n${markdownOf(report)}`)
    if (options.rounds >= LEAST_ROUNDS && options.only === undefined && !options.profile && !options.node)
      await keep({ ...report, revocations }, markdownOf(report), say)
  }
  if (profileFolder) await printHotSpots(profileFolder, say)
}

async function revokeInRounds(
  parts: { auth: App; apis: readonly App[]; agents: readonly AgentWithToken[] },
  { rounds, seconds }: Options,
  { say, signal }: Surroundings,
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

async function keep(
  report: Report & { readonly revocations: readonly Revocations[] },
  markdown: string,
  say: (line: string) => void,
): Promise<void> {
  await mkdir(RESULTS, { recursive: true })
  const name = report.date.toISOString().slice(0, 10)
  const file = path.join(RESULTS, name)
  await writeFile(`${file}.md`, markdown)
  await writeFile(`${file}.json`, `${JSON.stringify(report, null, 1)}\n`)
  say(`Written to bench/results/${name}.md and .json`)
}

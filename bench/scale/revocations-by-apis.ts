import path from 'node:path'
import { startManagedProcess } from '@plainpath/stack/managed-process'
import { READY } from '../baselines/recorded-responses.ts'
import { prepareRevocations, type Revocations, sendRevocations } from '../revocation.ts'
import type { Stores } from '../testbed/open-stores.ts'
import { type MeasuredStack, measureUsage, type Usage } from './measure-load.ts'
import type { InstanceStack, Part } from './start-instances.ts'

/** The latencies of the revocations in one round, and what the stack used meanwhile. */
interface RevocationRound extends Revocations {
  readonly usage: Usage
}

/** All rounds with the same number of simulated APIs. */
export interface RevocationSeries {
  readonly apiCount: number
  readonly rounds: readonly RevocationRound[]
}

const API_COUNTS = [2, 4, 8, 16, 32]

const WARM_UP_SECONDS = 1

/**
 * Measures revocations at an auth instance while 2 to 32 simulated APIs subscribe to them: the latency of `POST /oauth/revoke`,
 * processor time and Redis commands.
 *
 * @param stack a stack whose APIs have stopped, so that only the simulated APIs subscribe
 * @param options.folder where the simulated APIs write their logs
 * @param options.rounds how many rounds are measured with each number of APIs
 * @param options.seconds the length of a round
 * @throws the reason of `signal` if it is aborted before a round
 */
export async function measureRevocationsByApis(
  stack: InstanceStack & MeasuredStack,
  options: {
    folder: string
    rounds: number
    seconds: number
    print: (line: string) => void
    signal: AbortSignal
  },
): Promise<RevocationSeries[]> {
  const { rounds, seconds, print, signal } = options
  const { auths, agents, redis } = stack
  const [auth] = auths
  if (!auth) throw new Error('there is no instance of auth')
  const series: RevocationSeries[] = []
  for (const apiCount of API_COUNTS) {
    await using simulation = await startSimulatedApis(apiCount, stack.stores, options.folder)
    // The process has printed its ready line, so it has a pid.
    const pid = simulation.child.pid ?? 0
    const listProcesses = (part: Part) => (part === 'api' ? [pid] : stack.listProcesses(part))
    const measureRound = async (durationSeconds: number): Promise<RevocationRound> => {
      signal.throwIfAborted()
      // No API uses the tokens beforehand: simulated APIs serve no requests.
      const target = await prepareRevocations({ auth, apis: [], agents }, durationSeconds)
      let revocations: Revocations | undefined
      const usage = await measureUsage({ listProcesses, redis }, async () => {
        revocations = await sendRevocations(target, durationSeconds)
      })
      if (!revocations) throw new Error('nothing was measured')
      return { ...revocations, usage }
    }
    await measureRound(WARM_UP_SECONDS)
    const measuredRounds: RevocationRound[] = []
    for (let round = 1; round <= rounds; round += 1) measuredRounds.push(await measureRound(seconds))
    series.push({ apiCount, rounds: measuredRounds })
    const p99s = measuredRounds.map(({ arrivals }) => arrivals.latency.p99.toFixed(1))
    print(`revoke  ${String(apiCount).padStart(2)} APIs  p99 ${p99s.join(' ')} ms`)
  }
  return series
}

const startSimulatedApis = (count: number, stores: Stores, folder: string) =>
  startManagedProcess({
    name: 'simulated APIs',
    command: [process.execPath, path.join(import.meta.dirname, 'simulated-apis.ts')],
    env: { BENCH_REDIS_URL: stores.env['RESOURCE_REDIS_URL'] ?? '', BENCH_APIS: String(count) },
    logFile: path.join(folder, `simulated-apis-${count}.log`),
    readyLine: READY,
  })

import path from 'node:path'
import { startManagedProcess } from '@plainpath/stack/managed-process'
import { READY } from '../baselines/recorded-responses.ts'
import { prepareRevocations, type Revocations, sendRevocations } from '../revocation.ts'
import type { Stores } from '../testbed/open-stores.ts'
import { type MeasuredStack, measureUsage, type Usage } from './measure-load.ts'
import type { InstanceStack, Part } from './start-instances.ts'

/** Revocations of tokens in one round, with a number of subscribed APIs. */
interface RevocationRound extends Revocations {
  readonly usage: Usage
}

/** All rounds with a number of APIs. */
export interface RevocationSeries {
  readonly apis: number
  readonly rounds: readonly RevocationRound[]
}

const API_COUNTS = [2, 4, 8, 16, 32]

const WARM_UP_SECONDS = 1

/**
 * Revokes tokens at an auth instance while simulated APIs subscribe to revocations.
 *
 * @param stack a stack whose APIs have stopped
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
  for (const apis of API_COUNTS) {
    await using simulation = await startSimulatedApis(apis, stack.stores, options.folder)
    const pid = simulation.child.pid ?? 0
    const listProcesses = (part: Part) => (part === 'api' ? [pid] : stack.listProcesses(part))
    const revoke = async (durationSeconds: number): Promise<RevocationRound> => {
      signal.throwIfAborted()
      const target = await prepareRevocations({ auth, apis: [], agents }, durationSeconds)
      let revocations: Revocations | undefined
      const usage = await measureUsage({ listProcesses, redis }, async () => {
        revocations = await sendRevocations(target, durationSeconds)
      })
      if (!revocations) throw new Error('nothing was measured')
      return { ...revocations, usage }
    }
    await revoke(WARM_UP_SECONDS)
    const measured: RevocationRound[] = []
    for (let round = 1; round <= rounds; round += 1) measured.push(await revoke(seconds))
    series.push({ apis, rounds: measured })
    const p99s = measured.map(({ arrivals }) => arrivals.latency.p99.toFixed(1))
    print(`revoke  ${String(apis).padStart(2)} APIs  p99 ${p99s.join(' ')} ms`)
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

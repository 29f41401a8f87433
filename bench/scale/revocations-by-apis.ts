import path from 'node:path'
import { startManagedProcess } from '@plainpath/stack/managed-process'
import type { Redis } from 'ioredis'
import { READY } from '../baselines/recorded-responses.ts'
import { type Arrivals, sendAtRate } from '../load/open-loop.ts'
import { prepareRevocations, REVOCATIONS_PER_SECOND } from '../revocation.ts'
import { isLate } from '../run-rounds.ts'
import { measureUsage, type Usage } from './measure-load.ts'
import type { Instances, Part } from './start-instances.ts'

/** Revocations of tokens in one round, with a number of subscribed APIs. */
export interface RevocationRound {
  readonly arrivals: Arrivals
  readonly usage: Usage
  readonly isLate: boolean
}

/** All rounds with a number of APIs. */
export interface RevocationLevel {
  readonly apis: number
  readonly rounds: readonly RevocationRound[]
}

const API_COUNTS = [2, 4, 8, 16, 32]

const WARM_UP_SECONDS = 1

/**
 * Revokes tokens at an auth instance while simulated APIs subscribe to revocations.
 *
 * @param instances a stack whose APIs have stopped
 */
export async function measureRevocationsByApis(
  instances: Instances,
  options: {
    redis: Redis
    folder: string
    rounds: number
    seconds: number
    print: (line: string) => void
    signal: AbortSignal
  },
): Promise<RevocationLevel[]> {
  const { redis, rounds, seconds, print, signal } = options
  const levels: RevocationLevel[] = []
  for (const apis of API_COUNTS) {
    await using simulation = await startSimulatedApis(apis, instances, options.folder)
    const { pid } = simulation
    const listProcesses = (part: Part) => (part === 'api' ? [pid] : instances.listProcesses(part))
    const revoke = async (length: number): Promise<RevocationRound> => {
      signal.throwIfAborted()
      const target = await prepareRevocations({ ...instances, auth: simulation.auth, apis: [] }, length)
      let arrivals: Arrivals | undefined
      const usage = await measureUsage({ instances: { listProcesses }, redis }, async () => {
        arrivals = await sendAtRate(target, { rate: REVOCATIONS_PER_SECOND, seconds: length })
      })
      if (!arrivals) throw new Error('nothing was measured')
      return { arrivals, usage, isLate: isLate(arrivals) }
    }
    await revoke(WARM_UP_SECONDS)
    const measured: RevocationRound[] = []
    for (let round = 1; round <= rounds; round += 1) measured.push(await revoke(seconds))
    levels.push({ apis, rounds: measured })
    const p99s = measured.map(({ arrivals }) => arrivals.latency.p99.toFixed(1))
    print(`revoke  ${String(apis).padStart(2)} APIs  p99 ${p99s.join(' ')} ms`)
  }
  return levels
}

async function startSimulatedApis(count: number, { stores, auths }: Instances, folder: string) {
  const [auth] = auths
  if (!auth) throw new Error('there is no instance of auth')
  const simulation = await startManagedProcess({
    name: 'simulated APIs',
    command: [process.execPath, path.join(import.meta.dirname, 'simulated-apis.ts')],
    env: { BENCH_REDIS_URL: stores.env['RESOURCE_REDIS_URL'] ?? '', BENCH_APIS: String(count) },
    logFile: path.join(folder, `simulated-apis-${count}.log`),
    readyLine: READY,
  })
  return {
    auth,
    pid: simulation.child.pid ?? 0,
    [Symbol.asyncDispose]: () => simulation[Symbol.asyncDispose](),
  }
}

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { openLoadGenerator, RUN_UP_SECONDS } from '../load/closed-loop.ts'
import type { Connection } from '../load/connection.ts'
import { readProcessorMs } from '../load/processor-time.ts'
import type { Target } from '../load/target.ts'
import { type CommandCounts, parseCommandStats, subtractCounts } from './redis-commands.ts'
import { type Instances, PARTS, type Part } from './start-instances.ts'

/** What a stack used during a time. */
export interface Usage {
  readonly seconds: number
  /** Processor time of each part, in milliseconds. */
  readonly processorMs: Readonly<Record<Part, number>>
  readonly commands: CommandCounts
}

/** What a stack used under load. */
export interface LoadUsage extends Usage {
  /** Responses with the expected status. */
  readonly answered: number
  /** Errors since the load began, including those before and after the measurement. */
  readonly errors: number
}

/** A stack, and a connection to its Redis as the administrator. */
export interface MeasuredStack {
  readonly instances: Pick<Instances, 'listProcesses'>
  readonly redis: Redis
}

/** Measures what a stack uses while `work` runs. */
export async function measureUsage(stack: MeasuredStack, work: () => Promise<unknown>): Promise<Usage> {
  const start = await takeSnapshot(stack)
  await work()
  const end = await takeSnapshot(stack)
  const computeMs = (part: Part) =>
    [...end.processes[part]].reduce((sum, [pid, ms]) => sum + ms - (start.processes[part].get(pid) ?? 0), 0)
  return {
    seconds: (end.takenAt - start.takenAt) / 1_000,
    processorMs: recordParts(computeMs),
    commands: subtractCounts(end.commands, start.commands),
  }
}

/** A load. Each connection sends a request as soon as it has received the response to its last one. */
export interface Load extends Pick<Target, 'next' | 'status'> {
  /** Prepares the next measurement, for example by filling caches. */
  readonly prepare?: () => Promise<void>
  /** Opens the connection with this index, from 0. */
  readonly open: (index: number) => Connection
}

/** Measures a stack under load for the given seconds, after a run-up. */
export async function measureLoad(load: Load, stack: MeasuredStack, seconds: number): Promise<LoadUsage> {
  await load.prepare?.()
  using generator = openLoadGenerator(load, load.open)
  const countAnswered = () => generator.getCounts().expectedResponses
  generator.start()
  await sleep(RUN_UP_SECONDS * 1_000)
  let answered = 0
  const usage = await measureUsage(stack, async () => {
    const answeredBefore = countAnswered()
    await sleep(seconds * 1_000)
    answered = countAnswered() - answeredBefore
  })
  await generator.stop()
  return { ...usage, answered, errors: generator.getCounts().errors }
}

async function takeSnapshot({ instances, redis }: MeasuredStack) {
  const commands = parseCommandStats(await redis.info('commandstats'))
  const processes = recordParts((part) => readEachProcess(instances.listProcesses(part)))
  return { takenAt: performance.now(), commands, processes }
}

/** Reads the processor time of each process that still runs: workers of PostgreSQL may end at any time. */
function readEachProcess(pids: readonly number[]): ReadonlyMap<number, number> {
  const times = new Map<number, number>()
  for (const pid of pids) if (existsSync(`/proc/${pid}/task`)) times.set(pid, readProcessorMs(pid))
  return times
}

const recordParts = <T>(compute: (part: Part) => T) =>
  Object.fromEntries(PARTS.map((part) => [part, compute(part)])) as Record<Part, T>

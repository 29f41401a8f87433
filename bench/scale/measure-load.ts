import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { createLoadGenerator, RUN_UP_SECONDS } from '../load/closed-loop.ts'
import type { Connection } from '../load/connection.ts'
import { readProcessorMs } from '../load/processor-time.ts'
import type { Target } from '../load/target.ts'
import { type CommandCounts, parseCommandStats, subtractCounts } from './redis-commands.ts'
import { type InstanceStack, PARTS, type Part } from './start-instances.ts'

/** Processor time and Redis commands of a stack during a measurement. */
export interface Usage {
  readonly seconds: number
  /** Processor time of each part, in milliseconds. */
  readonly processorMs: Readonly<Record<Part, number>>
  readonly commands: CommandCounts
}

/** The usage of a stack under load, and its responses. */
export interface LoadUsage extends Usage {
  /** Responses with the expected status. */
  readonly expectedResponses: number
  /** Errors since the load began, including those before and after the measurement. */
  readonly errors: number
}

/** The measurements of a path at one number of instances. */
export interface InstanceSeries {
  readonly name: string
  readonly title: string
  /** The number of instances of each app. */
  readonly instances: number
  readonly rounds: readonly LoadUsage[]
}

/** The usage of a stack without requests, and its memory after all rounds. */
export interface StackReport {
  readonly instances: number
  readonly idle: Usage
  /** The resident memory of all instances, in bytes. */
  readonly memory: number
}

export interface MeasuredStack extends Pick<InstanceStack, 'listProcesses'> {
  /** A connection to the stack's Redis as the administrator. */
  readonly redis: Redis
}

/**
 * Measures what a stack uses while `work` runs. A process that ends during the work is not counted. A process that begins
 * during the work is counted from its beginning.
 */
export async function measureUsage(stack: MeasuredStack, work: () => Promise<unknown>): Promise<Usage> {
  const start = await takeSnapshot(stack)
  await work()
  const end = await takeSnapshot(stack)
  const computeMs = (part: Part) =>
    [...end.processes[part]].reduce((sum, [pid, ms]) => sum + ms - (start.processes[part].get(pid) ?? 0), 0)
  return {
    seconds: (end.takenAt - start.takenAt) / 1_000,
    processorMs: mapParts(computeMs),
    commands: subtractCounts(end.commands, start.commands),
  }
}

/** A closed loop: each connection sends a request as soon as it has received the response to its last one. */
export interface Load extends Pick<Target, 'next' | 'status'> {
  /** Prepares the next measurement, for example by filling caches. */
  readonly prepare?: () => Promise<void>
  /** Opens the connection with this index, from 0. */
  readonly open: (index: number) => Connection
}

/** Measures a stack under load for the given seconds, after a run-up. */
export async function measureLoad(load: Load, stack: MeasuredStack, seconds: number): Promise<LoadUsage> {
  await load.prepare?.()
  using generator = createLoadGenerator(load, load.open)
  const countResponses = () => generator.getCounts().expectedResponses
  generator.start()
  await sleep(RUN_UP_SECONDS * 1_000)
  let expectedResponses = 0
  const usage = await measureUsage(stack, async () => {
    const countBefore = countResponses()
    await sleep(seconds * 1_000)
    expectedResponses = countResponses() - countBefore
  })
  await generator.stop()
  return { ...usage, expectedResponses, errors: generator.getCounts().errors }
}

async function takeSnapshot({ listProcesses, redis }: MeasuredStack) {
  const commands = parseCommandStats(await redis.info('commandstats'))
  const processes = mapParts((part) => readProcessTimes(listProcesses(part)))
  return { takenAt: performance.now(), commands, processes }
}

/** Reads the processor time of each process that still runs, since workers of PostgreSQL may end at any time. */
function readProcessTimes(pids: readonly number[]): ReadonlyMap<number, number> {
  const times = new Map<number, number>()
  for (const pid of pids) if (existsSync(`/proc/${pid}/task`)) times.set(pid, readProcessorMs(pid))
  return times
}

const mapParts = <T>(compute: (part: Part) => T) =>
  Object.fromEntries(PARTS.map((part) => [part, compute(part)])) as Record<Part, T>

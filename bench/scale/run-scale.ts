import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compileApps } from '@plainpath/stack/start-app'
import { Redis } from 'ioredis'
import { readMemory } from '../load/processor-time.ts'
import { writeResult } from '../report/write-result.ts'
import { describeMachine } from '../testbed/machine.ts'
import {
  type InstanceSeries,
  type LoadUsage,
  type MeasuredStack,
  measureLoad,
  measureUsage,
  type StackReport,
} from './measure-load.ts'
import { renderScale } from './render-scale.ts'
import { measureRevocationsByApis } from './revocations-by-apis.ts'
import { createScalePaths, type ScalePath } from './scale-paths.ts'
import { simulateAllLimits } from './simulate-limits.ts'
import { type InstanceStack, startInstances } from './start-instances.ts'

const INSTANCE_COUNTS = [1, 2, 4]

interface ScaleOptions {
  /** The number of times that each path is measured on each stack, and revocations with each number of APIs. */
  readonly rounds: number
  /** The length of each of these measurements. */
  readonly seconds: number
  readonly nodeOptions: readonly string[]
  /** Whether to take the measurement with this name: that of a path, `revoke` or `limits`. */
  readonly isSelected: (measurementName: string) => boolean
  /** True to write the result to `bench/results`. */
  readonly shouldStore: boolean
  /** The start of the run, which dates the result. */
  readonly now: Date
  /** The temporary folder of the run. Each stack gets a folder in it. */
  readonly folder: string
  readonly print: (line: string) => void
  /** Aborts the run before the next measurement of a path or of revocations. */
  readonly signal: AbortSignal
}

/**
 * Measures the same requests at one, two and four instances of each app, the usage without requests, and revocations with up to
 * 32 subscribed APIs. Also simulates limits. All stacks run at the same time. Their paths are measured in turns, so that other
 * work on the machine affects all stacks alike.
 *
 * @throws {unknown} the reason of `options.signal` if it is aborted before a measurement of a path or of revocations
 */
export async function runScale(options: ScaleOptions): Promise<void> {
  const { print, now, isSelected } = options
  await using resources = new AsyncDisposableStack()
  await compileApps(options.nodeOptions)
  const stacks: Stack[] = []
  for (const count of INSTANCE_COUNTS) {
    print(`Starting ${count} instances of each app, stores and a gateway`)
    stacks.push(resources.use(await openStack(count, options)))
  }
  const idleStacks = await Promise.all(stacks.map(measureIdle))
  const paths = await measurePaths(stacks, options)
  // Reads the memory now, because `measureRevocations` stops the API of one stack.
  const stackReports = idleStacks.map(
    ({ stack, idle }): StackReport => ({ instances: stack.count, idle, memory: sumMemory(stack) }),
  )
  const revocations = isSelected('revoke') ? await measureRevocations(stacks, options) : []
  const limitSimulations = isSelected('limits') ? await simulateAllLimits() : []
  const report = { stacks: stackReports, paths, limitSimulations, revocations }
  const markdown = renderScale({ machine: describeMachine(), date: now, ...options, ...report })
  print(`\n${markdown}`)
  if (options.shouldStore) await writeResult('-scale', report, { markdown, date: now, print })
}

interface Stack extends InstanceStack, MeasuredStack {
  readonly paths: readonly ScalePath[]
}

async function openStack(count: number, { folder, nodeOptions, isSelected }: ScaleOptions): Promise<Stack> {
  await using opening = new AsyncDisposableStack()
  const stackFolder = path.join(folder, `instances-${count}`)
  await mkdir(stackFolder)
  const stack = opening.use(await startInstances(count, { folder: stackFolder, nodeOptions }))
  const redis = new Redis(stack.stores.redis.adminUrl)
  opening.defer(() => redis.disconnect())
  const paths = (await createScalePaths(stack)).filter(({ name }) => isSelected(name))
  const resources = opening.move()
  return { ...stack, redis, paths, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

const IDLE_SECONDS = 3

/** Waits for `IDLE_SECONDS`, and then measures the stack's usage without requests for another `IDLE_SECONDS`. */
async function measureIdle(stack: Stack) {
  await sleep(IDLE_SECONDS * 1_000)
  const idle = await measureUsage(stack, () => sleep(IDLE_SECONDS * 1_000))
  return { stack, idle }
}

/** Reads the resident memory of all instances, in bytes. */
const sumMemory = ({ auths, apis }: InstanceStack) =>
  [...auths, ...apis].reduce((sum, { pid }) => sum + readMemory(pid).now, 0)

/**
 * The warm-up of each path, in seconds per instance: long enough for V8 to compile the hot code. More instances need longer,
 * because the load is spread over them.
 */
const WARM_UP_SECONDS = 1

/** Measures each path on each stack, in an order that alternates from round to round. */
async function measurePaths(stacks: readonly Stack[], options: ScaleOptions): Promise<InstanceSeries[]> {
  const { rounds, seconds, print, signal } = options
  for (const stack of stacks) {
    print(`Warming up ${stack.count} instances of each app`)
    for (const { load } of stack.paths) {
      signal.throwIfAborted()
      await measureLoad(load, stack, WARM_UP_SECONDS * stack.count)
    }
  }
  const names = stacks[0]?.paths.map(({ name }) => name) ?? []
  const seriesList = names.flatMap((pathName) =>
    stacks.map((stack) => {
      const scalePath = stack.paths.find(({ name }) => name === pathName)
      if (!scalePath) throw new Error(`a stack has no path ${pathName}`)
      const { title, load } = scalePath
      return {
        name: pathName,
        title,
        instances: stack.count,
        stack,
        load,
        rounds: [] as LoadUsage[],
      }
    }),
  )
  for (let round = 1; round <= rounds; round += 1) {
    for (const series of round % 2 === 0 ? seriesList.toReversed() : seriesList) {
      signal.throwIfAborted()
      const usage = await measureLoad(series.load, series.stack, seconds)
      series.rounds.push(usage)
      print(formatProgress(`${round}/${rounds}  ${series.name} ${series.instances}`, usage))
    }
  }
  return seriesList.map(({ name, title, instances, rounds: usages }) => ({
    name,
    title,
    instances,
    rounds: usages,
  }))
}

/** Formats the expected responses per second, and each part's processor time per expected response in µs. */
function formatProgress(
  name: string,
  { expectedResponses, errors, seconds, processorMs }: LoadUsage,
): string {
  const parts = Object.entries(processorMs).map(
    ([part, ms]) => `${part} ${((ms * 1_000) / expectedResponses).toFixed(0)}`,
  )
  const columns = [
    name.padEnd(24),
    `${(expectedResponses / seconds).toFixed(0).padStart(6)}/s`,
    `${parts.join(', ')} µs`,
  ]
  return [...columns, ...(errors > 0 ? [`${errors} errors`] : [])].join('  ')
}

/**
 * Measures revocations on the stack with one instance of each app. First stops its API, which would otherwise be one more
 * subscriber.
 */
async function measureRevocations([stack]: readonly Stack[], options: ScaleOptions) {
  if (!stack) throw new Error('there is no stack')
  for (const api of stack.apis) await api[Symbol.asyncDispose]()
  return await measureRevocationsByApis(stack, options)
}

import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, openConnection } from './connection.ts'
import { readProcessorMs } from './processor-time.ts'
import type { Target } from './target.ts'

/** Throughput and processor use while each connection sends a request as soon as it has received a response. */
export interface Saturation {
  /** Responses with the expected status. */
  readonly perSecond: number
  /** Errors since the load began, including the run-up and the responses after the measurement. */
  readonly errors: number
  /**
   * Processor time of the target's process per response with the expected status, in microseconds; not finite if there
   * was none.
   */
  readonly processorMicros: number
  /** Processor time divided by elapsed time: 1 is one full core, and several threads can exceed 1. */
  readonly targetBusy: number
  /** The same for this process, which generates the load. */
  readonly generatorBusy: number
}

/** The number of connections of a load generator, each with at most one request in flight. */
export const CONNECTION_COUNT = 32
/** Seconds of load before the measurement, so that connections are open. */
export const RUN_UP_SECONDS = 0.3

/**
 * Keeps 32 connections busy, and measures the target for the given seconds after `RUN_UP_SECONDS`. The caller must have
 * run `target.prepare` before.
 */
export async function saturate(target: Target, seconds: number): Promise<Saturation> {
  using generator = createLoadGenerator(target, () => openConnection(target.port))
  generator.start()
  await sleep(RUN_UP_SECONDS * 1_000)
  const responsesBefore = generator.getCounts().expectedResponses
  const start = takeSnapshot(target.pid)
  await sleep(start.takenAt + seconds * 1000 - performance.now())
  const responseCount = generator.getCounts().expectedResponses - responsesBefore
  const end = takeSnapshot(target.pid)
  await generator.stop()
  const elapsedMs = end.takenAt - start.takenAt
  return {
    perSecond: (responseCount * 1000) / elapsedMs,
    errors: generator.getCounts().errors,
    processorMicros: ((end.targetMs - start.targetMs) * 1000) / responseCount,
    targetBusy: (end.targetMs - start.targetMs) / elapsedMs,
    generatorBusy: (end.generatorMs - start.generatorMs) / elapsedMs,
  }
}

/** The cost of one target in one round. */
export interface ProcessorCost {
  /** Responses with the expected status. */
  readonly expectedResponses: number
  readonly errors: number
  /**
   * Processor time of the target's process per response with the expected status, in microseconds; not finite if there
   * was none.
   */
  readonly processorMicros: number
}

/** Turns are short, so that other work on the machine slows both targets alike. */
const TURN_SECONDS = 0.1

/**
 * Saturates two targets, A and B, for the given seconds each, in short turns: ABBAABBA. Before each turn, this function
 * runs `target.prepare` itself.
 */
export async function saturateInTurns(
  targets: readonly [Target, Target],
  seconds: number,
): Promise<[ProcessorCost, ProcessorCost]> {
  using generators = new DisposableStack()
  const [targetA, targetB] = targets.map((target) => {
    const generator = generators.use(createLoadGenerator(target, () => openConnection(target.port)))
    let spentMs = 0
    return {
      async takeTurn() {
        // Three times the length of a turn, since a turn may take longer than planned on a busy machine.
        await target.prepare?.(3 * TURN_SECONDS)
        const msBefore = readProcessorMs(target.pid)
        generator.start()
        await sleep(TURN_SECONDS * 1_000)
        await generator.stop()
        spentMs += readProcessorMs(target.pid) - msBefore
      },
      computeCost() {
        const { expectedResponses, errors } = generator.getCounts()
        return { expectedResponses, errors, processorMicros: (spentMs * 1_000) / expectedResponses }
      },
    }
  })
  if (!targetA || !targetB) throw new Error('expected two targets')
  for (let pair = 0; pair < seconds / TURN_SECONDS; pair += 1) {
    for (const each of pair % 2 === 0 ? [targetA, targetB] : [targetB, targetA]) await each.takeTurn()
  }
  return [targetA.computeCost(), targetB.computeCost()]
}

interface LoadGenerator extends Disposable {
  /** Lets each connection send a request as soon as it has received the previous response. */
  start(): void
  /** Sends no further request, and waits for the outstanding responses. */
  stop(): Promise<void>
  /** Counts since the generator was opened. `errors`: unexpected statuses and lost connections. */
  getCounts(): { readonly expectedResponses: number; readonly errors: number }
}

/**
 * Creates a load generator and its connections. It sends nothing until `start` is called.
 *
 * @param open opens the connection with this index, from 0
 */
export function createLoadGenerator(
  target: Pick<Target, 'next' | 'status'>,
  open: (index: number) => Connection,
): LoadGenerator {
  const resources = new DisposableStack()
  const connections = Array.from({ length: CONNECTION_COUNT }, (_none, index) => resources.use(open(index)))
  let expectedResponses = 0
  let errors = 0
  let isStopping = false
  let sendLoops: Promise<void>[] = []
  const runSendLoop = (connection: Connection) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const sendNext = () => {
      if (isStopping) return resolve()
      connection.send(target.next(), (status) => {
        if (status === target.status) expectedResponses += 1
        else errors += 1
        // A refused connection fails immediately, so a retry without a pause would be a tight loop.
        if (status === 0) setTimeout(sendNext, 10)
        else sendNext()
      })
    }
    sendNext()
    return promise
  }
  return {
    start() {
      isStopping = false
      sendLoops = connections.map(runSendLoop)
    },
    async stop() {
      isStopping = true
      await Promise.all(sendLoops)
    },
    getCounts: () => ({ expectedResponses, errors }),
    [Symbol.dispose]: () => resources.dispose(),
  }
}

const takeSnapshot = (pid: number) => ({
  takenAt: performance.now(),
  targetMs: readProcessorMs(pid),
  generatorMs: readProcessorMs(process.pid),
})

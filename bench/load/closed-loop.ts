import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, openConnection } from './connection.ts'
import { readProcessorMs } from './processor-time.ts'
import type { Target } from './target.ts'

/** The throughput of a target when each connection sends a request as soon as it has received a response. */
export interface Saturation {
  readonly perSecond: number
  readonly errors: number
  /** Processor time of the target's process per response, in microseconds. */
  readonly processorMicros: number
  /** The processor time of each process during the measurement, as a share of one core from 0 to 1. */
  readonly targetBusy: number
  readonly generatorBusy: number
}

const CONNECTIONS = 32
/** The time before the measurement begins. */
export const RUN_UP_SECONDS = 0.3

/** Keeps 32 connections busy, and measures the target for the given seconds after `RUN_UP_SECONDS`. */
export async function saturate(target: Target, seconds: number): Promise<Saturation> {
  using load = openLoad(target)
  load.start()
  await sleep(RUN_UP_SECONDS * 1_000)
  const [countBefore, start] = [load.getCounts().answered, readCounters(target.pid)]
  await sleep(start.takenAt + seconds * 1000 - performance.now())
  const [count, end] = [load.getCounts().answered - countBefore, readCounters(target.pid)]
  await load.stop()
  const ms = end.takenAt - start.takenAt
  return {
    perSecond: (count * 1000) / ms,
    errors: load.getCounts().errors,
    processorMicros: ((end.targetMs - start.targetMs) * 1000) / count,
    targetBusy: (end.targetMs - start.targetMs) / ms,
    generatorBusy: (end.generatorMs - start.generatorMs) / ms,
  }
}

/** The cost of one target in one round. */
export interface ProcessorCost {
  readonly answered: number
  readonly errors: number
  /** Processor time of the target's process per response, in microseconds. */
  readonly processorMicros: number
}

/** Turns are short, so that other work on the machine slows both targets alike. */
const TURN_SECONDS = 0.1

/** Saturates two targets, A and B, for the given seconds each, in short turns: ABBAABBA. */
export async function saturateInTurns(
  targets: readonly [Target, Target],
  seconds: number,
): Promise<[ProcessorCost, ProcessorCost]> {
  using loads = new DisposableStack()
  const [targetA, targetB] = targets.map((target) => {
    const load = loads.use(openLoad(target))
    let spentMs = 0
    return {
      async takeTurn() {
        // Three times the length of a turn, since a turn may take longer than planned on a busy machine.
        await target.prepare?.(3 * TURN_SECONDS)
        const msBefore = readProcessorMs(target.pid)
        load.start()
        await sleep(TURN_SECONDS * 1_000)
        await load.stop()
        spentMs += readProcessorMs(target.pid) - msBefore
      },
      computeCost() {
        const counts = load.getCounts()
        return { ...counts, processorMicros: (spentMs * 1_000) / counts.answered }
      },
    }
  })
  if (!targetA || !targetB) throw new Error('there are two targets')
  for (let turn = 0; turn < seconds / TURN_SECONDS; turn += 1) {
    for (const each of turn % 2 === 0 ? [targetA, targetB] : [targetB, targetA]) await each.takeTurn()
  }
  return [targetA.computeCost(), targetB.computeCost()]
}

interface Load extends Disposable {
  /** Lets each connection send a request as soon as it has received the previous response. */
  start(): void
  /** Sends no further request, and waits for the outstanding responses. */
  stop(): Promise<void>
  /** Counts all responses since the load was opened. Unexpected statuses and lost connections are errors. */
  getCounts(): { readonly answered: number; readonly errors: number }
}

/** Creates a load and its connections. It sends nothing until `start` is called. */
function openLoad(target: Target): Load {
  const resources = new DisposableStack()
  const connections = Array.from({ length: CONNECTIONS }, () => resources.use(openConnection(target.port)))
  let answered = 0
  let errors = 0
  let isStopping = false
  let sendLoops: Promise<void>[] = []
  const runSendLoop = (connection: Connection) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const sendNext = () => {
      if (isStopping) return resolve()
      connection.send(target.next(), (status) => {
        if (status === target.status) answered += 1
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
    getCounts: () => ({ answered, errors }),
    [Symbol.dispose]: () => resources.dispose(),
  }
}

const readCounters = (pid: number) => ({
  takenAt: performance.now(),
  targetMs: readProcessorMs(pid),
  generatorMs: readProcessorMs(process.pid),
})

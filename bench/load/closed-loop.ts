import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './connection.ts'
import { processorMs } from './processor-time.ts'
import type { Target } from './target.ts'

/** The throughput of a target when each connection sends a request as soon as it has a response. */
export interface Saturation {
  readonly perSecond: number
  readonly errors: number
  /** Processor time of the target's process per response, in microseconds. */
  readonly processorMicros: number
  /** Shares of one core, from 0 to 1. */
  readonly targetBusy: number
  readonly generatorBusy: number
}

const CONNECTIONS = 32
/** The time at the beginning that is not measured. */
export const RUN_UP_SECONDS = 0.3

/** Keeps 32 connections busy for the given seconds. */
export async function saturate(target: Target, seconds: number): Promise<Saturation> {
  using connections = new DisposableStack()
  let answered = 0
  let errors = 0
  let stopping = false
  const chains = Array.from({ length: CONNECTIONS }, () => {
    const connection = connections.use(openConnection(target.port))
    const { promise, resolve } = Promise.withResolvers<void>()
    const ask = () => {
      if (stopping) return resolve()
      connection.send(target.next(), (status) => {
        if (status === target.status) answered += 1
        else errors += 1
        // A refused connection fails at once, so it must not be retried in a tight loop.
        if (status === 0) setTimeout(ask, 10)
        else ask()
      })
    }
    ask()
    return promise
  })
  await sleep(RUN_UP_SECONDS * 1_000)
  const [before, begun] = [answered, readings(target.pid)]
  await sleep(begun.at + seconds * 1000 - performance.now())
  const [count, ended] = [answered - before, readings(target.pid)]
  stopping = true
  await Promise.all(chains)
  const ms = ended.at - begun.at
  return {
    perSecond: (count * 1000) / ms,
    errors,
    processorMicros: ((ended.target - begun.target) * 1000) / count,
    targetBusy: (ended.target - begun.target) / ms,
    generatorBusy: (ended.generator - begun.generator) / ms,
  }
}

const readings = (pid: number) => ({
  at: performance.now(),
  target: processorMs(pid),
  generator: processorMs(process.pid),
})

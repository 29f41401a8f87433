import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A process of the stack, whose lines go to a file. Disposing sends SIGTERM, then SIGKILL after a bound. A test may stop
 * it and start it again as it was.
 */
export interface ManagedProcess extends AsyncDisposable {
  readonly name: string
  /** The one that runs, or ran last. */
  readonly child: ChildProcess
  readonly logFile: string
  /** True until it has ended. */
  readonly running: boolean
  /** Sends the signal and waits until the process has ended; after a bound it sends SIGKILL. */
  stop(signal: NodeJS.Signals): Promise<void>
  /**
   * Starts it again, at the same addresses, and waits until it is ready; it can be stopped meanwhile.
   *
   * @throws as the first start, or when it runs
   */
  start(): Promise<void>
}

interface ManagedProcessOptions {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
  /** The process is ready when it prints a line with this in it. */
  readonly readyLine: string
  /** How long it may take until it is ready; 60 000. */
  readonly startMs?: number
  /** How long it may take to end before it gets SIGKILL; 15 000. */
  readonly stopMs?: number
}

const START_MS = 60_000
const STOP_MS = 15_000

/** @throws with the last lines it printed, when the process ends or does not get ready in time */
export async function startManagedProcess(options: ManagedProcessOptions): Promise<ManagedProcess> {
  let current = begin(options)
  await current.started
  return {
    name: options.name,
    logFile: options.logFile,
    get child() {
      return current.child
    },
    get running() {
      return runs(current.child)
    },
    stop: (signal) => stop(current, signal),
    async start() {
      if (runs(current.child)) throw new Error(`${options.name} runs already`)
      current = begin(options)
      await current.started
    },
    [Symbol.asyncDispose]: () => stop(current, 'SIGTERM'),
  }
}

interface Run {
  readonly child: ChildProcess
  readonly log: WriteStream
  readonly stopMs: number
}

interface Begun extends Run {
  /** Until it is ready. */
  readonly started: Promise<void>
}

const runs = (child: ChildProcess) =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null

function begin(options: ManagedProcessOptions): Begun {
  const { startMs = START_MS, stopMs = STOP_MS } = options
  const log = createWriteStream(options.logFile, { flags: 'a', mode: 0o600 })
  const child = spawn(options.command, options.args, {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C reaches the launcher alone, which then stops everything in order.
    detached: true,
  })
  const ready = Promise.withResolvers<void>()
  const last: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`)
      last.splice(0, Math.max(0, last.length - 9))
      last.push(line)
      if (line.includes(options.readyLine)) ready.resolve()
    })
  }
  const fail = (why: string) => ready.reject(new Error(`${options.name} ${why}:\n${last.join('\n')}`))
  child.once('error', (error) => fail(`cannot be started (${error.message})`))
  child.once('exit', (code, signal) => fail(`ended (${code ?? signal})`))
  // All it printed has been read by then.
  child.once('close', () => log.end())
  const timer = setTimeout(() => fail(`was not ready in ${startMs / 1000} s`), startMs)
  const run = { child, log, stopMs }
  const stopUnready = async (error: unknown) => {
    await stop(run, 'SIGTERM')
    throw error
  }
  const started = ready.promise.catch(stopUnready).finally(() => clearTimeout(timer))
  return { ...run, started }
}

async function stop({ child, log, stopMs }: Run, signal: NodeJS.Signals): Promise<void> {
  if (runs(child)) {
    // A stopped process (SIGSTOP) must go on to be able to end in order.
    if (signal !== 'SIGKILL') child.kill('SIGCONT')
    child.kill(signal)
  }
  const kill = setTimeout(() => child.kill('SIGKILL'), stopMs)
  await finished(log).catch(() => {})
  clearTimeout(kill)
}

const POLL_MS = 50

/** @returns false when it is not so within `ms` */
export async function until(isSo: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await sleep(POLL_MS)) {
    if (await isSo()) return true
  }
  return false
}

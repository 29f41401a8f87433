import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
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
  /** The program and its arguments. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
  /** The process is ready when it has printed this. */
  readonly readyLine: string
  /** How long it may take until it is ready; 60 000. */
  readonly startMs?: number
  /** How long it may take to end before it gets SIGKILL; 15 000. */
  readonly stopMs?: number
}

const START_MS = 60_000
const STOP_MS = 15_000

/** @throws with the last that it printed, when the process ends or does not get ready in time */
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

const runs = (child: ChildProcess) =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null

/** Of what it printed, for the error when it does not get ready. */
const LAST_CHARACTERS = 2_000

/** @returns the process, and `started`, which resolves when it is ready */
function begin(options: ManagedProcessOptions): Run & { readonly started: Promise<void> } {
  const { startMs = START_MS, stopMs = STOP_MS } = options
  const [program = '', ...args] = options.command
  const log = createWriteStream(options.logFile, { flags: 'a', mode: 0o600 })
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C reaches the launcher alone, which then stops everything in order.
    detached: true,
  })
  const ready = Promise.withResolvers<void>()
  let isStarting = true
  let last = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (printed: Buffer) => {
      log.write(printed)
      if (!isStarting) return
      const all = last + printed.toString()
      if (all.includes(options.readyLine)) ready.resolve()
      last = all.slice(-LAST_CHARACTERS)
    })
  }
  const fail = (why: string) => ready.reject(new Error(`${options.name} ${why}:\n${last}`))
  child.once('error', (error) => fail(`cannot be started (${error.message})`))
  // All it printed has been read by then.
  child.once('close', (code, signal) => {
    log.end()
    fail(`ended (${code ?? signal})`)
  })
  const timer = setTimeout(() => fail(`was not ready in ${startMs / 1000} s`), startMs)
  const run = { child, log, stopMs }
  const stopUnready = async (error: unknown) => {
    await stop(run, 'SIGTERM')
    throw error
  }
  const started = ready.promise.catch(stopUnready).finally(() => {
    isStarting = false
    clearTimeout(timer)
  })
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

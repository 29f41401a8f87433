import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A process whose output is written to a file. It can be stopped, and started again with the same options. Disposing sends
 * SIGTERM, and SIGKILL after `stopMs`.
 */
export interface ManagedProcess extends AsyncDisposable {
  readonly name: string
  /** The current process, or the last one. */
  readonly child: ChildProcess
  readonly logFile: string
  readonly isRunning: boolean
  /** Sends the signal, and SIGKILL after `stopMs`. Waits until the process has ended. */
  stop(signal: NodeJS.Signals): Promise<void>
  /**
   * Waits until the current process ends without a call of `stop`.
   *
   * @returns the cause: `exit code 1` or `signal SIGKILL`
   */
  waitForCrash(): Promise<string>
  /**
   * Starts the process again, and waits until it is ready. `stop` may be called meanwhile.
   *
   * @throws {Error} for the same reasons as `startManagedProcess`, and if the process is already running
   */
  start(): Promise<void>
}

interface ManagedProcessOptions {
  readonly name: string
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** The environment variables of the process, which also receives our `PATH`. */
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
  /** A part of the output that shows that the process is ready. */
  readonly readyLine: string
  /** The maximum time until the process is ready, in milliseconds; by default 180,000. */
  readonly startMs?: number
  /** The time that the process has to end before it receives SIGKILL, in milliseconds; by default 15,000. */
  readonly stopMs?: number
}

const DEFAULT_START_MS = 180_000
const DEFAULT_STOP_MS = 15_000

/**
 * Starts a process and waits until it is ready.
 *
 * @throws {Error} with the end of its output, if it ends, is not ready in time, or its log cannot be written
 */
export async function startManagedProcess(options: ManagedProcessOptions): Promise<ManagedProcess> {
  let currentRun = launch(options)
  await currentRun.startup
  return {
    name: options.name,
    logFile: options.logFile,
    get child() {
      return currentRun.child
    },
    get isRunning() {
      return isAlive(currentRun.child)
    },
    stop: (signal) => stop(currentRun, signal),
    waitForCrash: () => currentRun.crash,
    async start() {
      if (isAlive(currentRun.child)) throw new Error(`${options.name} is already running`)
      currentRun = launch(options)
      await currentRun.startup
    },
    [Symbol.asyncDispose]: () => stop(currentRun, 'SIGTERM'),
  }
}

interface Run {
  readonly child: ChildProcess
  readonly log: WriteStream
  readonly stopMs: number
  /** Resolves only when the process ends without a call of `stop`. */
  readonly crash: Promise<string>
  /** Resolves when the process has ended and all its output was read. */
  readonly closed: Promise<void>
  isStopping: boolean
}

const isAlive = (child: ChildProcess) =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null

/** The length of the end of the output that the error quotes if the process does not become ready. */
const MAX_TAIL_CHARACTERS = 2_000

/** Starts the process. `startup` resolves when it is ready. */
function launch(options: ManagedProcessOptions): Run & { readonly startup: Promise<void> } {
  const { startMs = DEFAULT_START_MS, stopMs = DEFAULT_STOP_MS } = options
  const [program = '', ...args] = options.command
  const log = createWriteStream(options.logFile, { flags: 'a', mode: 0o600 })
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: Ctrl-C must reach only the launcher, which stops everything in order.
    detached: true,
  })
  const ready = Promise.withResolvers<void>()
  const crash = Promise.withResolvers<string>()
  const closed = Promise.withResolvers<void>()
  const run: Run = { child, log, stopMs, crash: crash.promise, closed: closed.promise, isStopping: false }
  let isStarting = true
  let tail = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log.write(chunk)
      if (!isStarting) return
      const output = tail + chunk.toString()
      if (output.includes(options.readyLine)) ready.resolve()
      tail = output.slice(-MAX_TAIL_CHARACTERS)
    })
  }
  const fail = (reason: string) => ready.reject(new Error(`${options.name} ${reason}:\n${tail}`))
  child.once('error', (error) => fail(`cannot be started (${error.message})`))
  log.once('error', (error) => {
    if (isStarting) fail(`cannot write its log (${error.message})`)
    else process.stderr.write(`${options.name} keeps running, but its log ends here: ${error.message}\n`)
  })
  // Unlike 'exit', 'close' is emitted after all output was read.
  child.once('close', (code, signal) => {
    log.end()
    closed.resolve()
    fail(`ended (${code ?? signal})`)
    if (!run.isStopping) crash.resolve(signal ? `signal ${signal}` : `exit code ${code}`)
  })
  const timer = setTimeout(() => fail(`was not ready in ${startMs / 1000} s`), startMs)
  const stopUnready = async (error: unknown) => {
    await stop(run, 'SIGTERM')
    throw error
  }
  const startup = ready.promise.catch(stopUnready).finally(() => {
    isStarting = false
    clearTimeout(timer)
  })
  return Object.assign(run, { startup })
}

async function stop(run: Run, signal: NodeJS.Signals): Promise<void> {
  const { child, log, stopMs } = run
  run.isStopping = true
  if (isAlive(child)) {
    // A process that a test has stopped (SIGSTOP) must continue before it can handle the signal.
    if (signal !== 'SIGKILL') child.kill('SIGCONT')
    child.kill(signal)
  }
  const killTimer = setTimeout(() => child.kill('SIGKILL'), stopMs)
  await run.closed
  clearTimeout(killTimer)
  await finished(log).catch(() => {})
}

const POLL_MS = 20

/** Polls a condition every 20 ms. Returns false if it is not true within `timeoutMs`. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(POLL_MS)) {
    if (await condition()) return true
  }
  return false
}

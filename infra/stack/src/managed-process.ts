import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A process of the stack, whose output is written to a file. A test may stop it and start it again with the same options.
 * Disposing sends SIGTERM, and SIGKILL after `stopMs`.
 */
export interface ManagedProcess extends AsyncDisposable {
  readonly name: string
  /** The current process, or the last one. */
  readonly child: ChildProcess
  readonly logFile: string
  readonly isRunning: boolean
  /** Sends the signal and waits until the process has ended. Sends SIGKILL after `stopMs`. */
  stop(signal: NodeJS.Signals): Promise<void>
  /**
   * Starts it again at the same addresses, and waits until it is ready. `stop` may be called meanwhile.
   *
   * @throws {Error} as the first start does, or when it is running
   */
  start(): Promise<void>
}

interface ManagedProcessOptions {
  readonly name: string
  /** The program and its arguments. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
  /** The output after which the process counts as ready. */
  readonly readyLine: string
  /** The longest time until it is ready; 60 000 when absent. */
  readonly startMs?: number
  /** The time after which a process that does not end gets SIGKILL; 15 000 when absent. */
  readonly stopMs?: number
}

const START_MS = 60_000
const STOP_MS = 15_000

/**
 * Starts a process and waits until it is ready.
 *
 * @throws {Error} with the end of its output, when it ends or is not ready in time
 */
export async function startManagedProcess(options: ManagedProcessOptions): Promise<ManagedProcess> {
  let current = launch(options)
  await current.started
  return {
    name: options.name,
    logFile: options.logFile,
    get child() {
      return current.child
    },
    get isRunning() {
      return isAlive(current.child)
    },
    stop: (signal) => stop(current, signal),
    async start() {
      if (isAlive(current.child)) throw new Error(`${options.name} is already running`)
      current = launch(options)
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

const isAlive = (child: ChildProcess) =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null

/** How much of the output the error quotes when the process does not become ready. */
const MAX_TAIL_CHARACTERS = 2_000

/** Starts the process. `started` resolves when it is ready. */
function launch(options: ManagedProcessOptions): Run & { readonly started: Promise<void> } {
  const { startMs = START_MS, stopMs = STOP_MS } = options
  const [program = '', ...args] = options.command
  const log = createWriteStream(options.logFile, { flags: 'a', mode: 0o600 })
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a process group of its own, so that Ctrl-C reaches only the launcher, which stops everything in order.
    detached: true,
  })
  const ready = Promise.withResolvers<void>()
  let isStarting = true
  let tail = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (printed: Buffer) => {
      log.write(printed)
      if (!isStarting) return
      const all = tail + printed.toString()
      if (all.includes(options.readyLine)) ready.resolve()
      tail = all.slice(-MAX_TAIL_CHARACTERS)
    })
  }
  const fail = (why: string) => ready.reject(new Error(`${options.name} ${why}:\n${tail}`))
  child.once('error', (error) => fail(`cannot be started (${error.message})`))
  // 'close' comes after all output was read, unlike 'exit'.
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
  if (isAlive(child)) {
    // A process that a test has stopped (SIGSTOP) must continue before it can handle the signal.
    if (signal !== 'SIGKILL') child.kill('SIGCONT')
    child.kill(signal)
  }
  const kill = setTimeout(() => child.kill('SIGKILL'), stopMs)
  await finished(log).catch(() => {})
  clearTimeout(kill)
}

const POLL_MS = 50

/** Polls a condition every 50 ms. Returns false when it does not hold within `ms`. */
export async function waitUntil(condition: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await sleep(POLL_MS)) {
    if (await condition()) return true
  }
  return false
}

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { cpus, setPriority, totalmem } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A Node program on the core for servers. Its output goes to a file: nobody reads along while it is measured. */
export interface Server extends AsyncDisposable {
  readonly pid: number
  readonly port: number
}

const START_MS = 20_000
const POLL_MS = 25
const STOP_MS = 15_000

/** @throws with the end of what it printed, when it does not listen in time */
export async function startServer(options: {
  name: string
  /** What Node is given: its options, a file, and the arguments of that. */
  program: readonly string[]
  env: Readonly<Record<string, string>>
  port: number
  folder: string
}): Promise<Server> {
  const logFile = path.join(options.folder, `${options.name}.log`)
  const output = openSync(logFile, 'a', 0o600)
  const { command, args } = onServerCore(process.execPath, options.program)
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', output, output],
    // Ctrl-C reaches the bench alone, which then stops everything in order.
    detached: true,
  })
  const ended = once(child, 'exit')
  const isRunning = () => child.exitCode === null && child.signalCode === null
  async function stop(): Promise<void> {
    if (!isRunning()) return
    child.kill('SIGTERM')
    const cut = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await ended
    clearTimeout(cut)
  }
  for (const deadline = Date.now() + START_MS; !(await accepts(options.port)); await sleep(POLL_MS)) {
    if (isRunning() && Date.now() < deadline) continue
    await stop()
    const printed = await readFile(logFile, 'utf8')
    throw new Error(`${options.name} does not listen:\n${printed.slice(-2_000)}`)
  }
  return { pid: child.pid ?? 0, port: options.port, [Symbol.asyncDispose]: stop }
}

async function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
  const accepted = await promise
  socket.destroy()
  return accepted
}

/** Where what is measured runs, and where everything else does: stores and load. */
const SERVER_CORE = 0
const LOAD_CORE = 1

/** Of all that is started here, as against what else runs on the machine. */
const HIGH_PRIORITY = -10

/** What the figures depend on, without a word of whose machine it is. */
export interface Machine {
  readonly cores: number
  readonly processor: string
  readonly memoryGb: number
  readonly node: string
  readonly platform: string
}

export function describeMachine(): Machine {
  const all = cpus()
  return {
    cores: all.length,
    processor: all[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}

/**
 * Keeps this process, all its threads and what it starts from now on, on the core for stores and load.
 *
 * @throws {Error} when the machine has one core only, or no `taskset` (Debian: util-linux)
 */
export function moveToLoadCore(): void {
  if (cpus().length < 2) throw new Error('Two cores are needed: one for the server, one for stores and load.')
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(LOAD_CORE), String(process.pid)], {
    stdio: 'ignore',
  })
  try {
    setPriority(HIGH_PRIORITY)
  } catch {
    // Root alone may. What else runs on the machine then disturbs more.
  }
}

/** A command that runs on the core for servers. `taskset` becomes the program, so the process id is the program's. */
const onServerCore = (command: string, args: readonly string[]) => ({
  command: 'taskset',
  args: ['--cpu-list', String(SERVER_CORE), command, ...args],
})

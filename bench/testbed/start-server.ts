import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onServerCore } from './cores.ts'

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

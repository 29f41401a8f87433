import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'

/** A process of the stack, whose lines go to a file. Disposing sends SIGTERM, then SIGKILL after a bound. */
export interface ManagedProcess extends AsyncDisposable {
  readonly name: string
  readonly child: ChildProcess
  readonly logFile: string
  /** True until it has ended. */
  readonly running: boolean
}

export interface ManagedProcessOptions {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
  /** The process is ready when it prints a line with this in it. */
  readonly readyLine: string
}

const START_MS = 15_000
const STOP_MS = 15_000

/** @throws with the last lines it printed, when the process ends or does not get ready in time */
export async function startManagedProcess(options: ManagedProcessOptions): Promise<ManagedProcess> {
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
  const timer = setTimeout(() => fail(`was not ready in ${START_MS / 1000} s`), START_MS)
  const managed = manage(options, child, log)
  try {
    await ready.promise
    return managed
  } catch (error) {
    await managed[Symbol.asyncDispose]()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function manage(
  { name, logFile }: ManagedProcessOptions,
  child: ChildProcess,
  log: WriteStream,
): ManagedProcess {
  const running = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  return {
    name,
    child,
    logFile,
    get running() {
      return running()
    },
    async [Symbol.asyncDispose]() {
      if (running()) {
        const ended = once(child, 'exit')
        // A stopped process (SIGSTOP) must go on to be able to end.
        child.kill('SIGCONT')
        child.kill('SIGTERM')
        const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
        await ended
        clearTimeout(kill)
      }
      log.end()
      await finished(log).catch(() => {})
    },
  }
}

/** Different ports that were free a moment ago: addresses must be known before the processes start. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  for (const server of servers) server.close()
  await Promise.all(servers.map((server) => once(server, 'close')))
  return ports
}

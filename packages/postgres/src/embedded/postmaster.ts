import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Binaries } from './binaries.ts'
import { EmbeddedPostgresError } from './binaries.ts'
import { serverUser } from './server-user.ts'

export interface RunningServer {
  pid: number
  port: number
  /** False while it starts, recovers or stops. */
  ready: boolean
}

/** Every program that serves or stops one checks this often. */
export const POLL_MS = 20
const STOP_TIMEOUT_MS = 30_000
const LOG_TAIL_CHARACTERS = 4_000

/** Lasting by default: what was committed survives a crash and a power cut. Only warnings of the server are kept. */
const DEFAULT_SETTINGS: Readonly<Record<string, string>> = {
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '32MB',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_parameter_max_length_on_error: '0',
  log_error_verbosity: 'terse',
}
/** Not for callers to change. */
const FIXED_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  logging_collector: 'off',
  log_destination: 'stderr',
}

/** @returns the server that runs on the data directory `dir`, an absolute path without links. */
export function runningServer(dir: string): RunningServer | undefined {
  const lines = readIfThere(path.join(dir, 'postmaster.pid'))?.split('\n')
  if (!lines) return undefined
  const pid = Number(lines[0])
  const port = Number(lines[3])
  if (!isServerForDirectory(dir, pid)) return undefined
  return { pid, port, ready: port > 0 && lines[7]?.trim() === 'ready' }
}

/** The file of a killed server may name a process that is something else by now; that of a live one says `-D <dir>`. */
function isServerForDirectory(dir: string, pid: number): boolean {
  const [, option, folder] = readIfThere(`/proc/${pid}/cmdline`)?.split('\0') ?? []
  return option === '-D' && folder === dir
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    // ESRCH: a process that ends while it is read.
    if (['ENOENT', 'ENOTDIR', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** A server that is starting or running. */
export interface StartingServer {
  /** What it wrote last. */
  readonly log: string
  readonly ended: boolean
  /** True when it was stopped in order, or never began because another has the data directory or the port. */
  readonly mayStartAgain: boolean
}

/** Starts a server on loopback, apart from our terminal, so that Ctrl-C reaches the program and not its database. */
export async function startServer(
  binaries: Binaries,
  dir: string,
  settings: Readonly<Record<string, string>>,
): Promise<StartingServer> {
  const all = { ...DEFAULT_SETTINGS, ...settings, ...FIXED_SETTINGS, port: String(await freePort()) }
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(binaries.path('postgres'), ['-D', dir, ...options], {
    ...serverUser(),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return follow(child)
}

function follow(child: ChildProcess): StartingServer {
  let log = ''
  let ended = false
  let stoppedInOrder = false
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-LOG_TAIL_CHARACTERS)
  })
  child.once('error', (error) => {
    log += `FATAL:  ${error.message}`
    ended = true
  })
  child.once('close', (exitCode) => {
    ended = true
    stoppedInOrder = exitCode === 0
  })
  child.unref()
  if (child.stderr instanceof Socket) child.stderr.unref()
  return {
    get log() {
      return log
    },
    get ended() {
      return ended
    },
    get mayStartAgain() {
      return stoppedInOrder || LOST_RACE.test(log)
    },
  }
}

const LOST_RACE =
  /lock file .* already exists|lock file .* is empty|pre-existing shared memory|could not create any TCP\/IP sockets/

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

/**
 * Stops the server on `dir` as `pg_ctl stop -m fast` does and waits until it is gone.
 *
 * @throws {EmbeddedPostgresError} when it still runs after 30 s.
 */
export async function stopServer(dir: string): Promise<void> {
  const server = runningServer(dir)
  if (!server) return
  signal(server.pid, 'SIGINT')
  for (
    const deadline = performance.now() + STOP_TIMEOUT_MS;
    performance.now() < deadline;
    await sleep(POLL_MS)
  ) {
    if (runningServer(dir)?.pid !== server.pid) return
  }
  const seconds = STOP_TIMEOUT_MS / 1000
  throw new EmbeddedPostgresError(`PostgreSQL (process ${server.pid}) did not stop within ${seconds} s`)
}

/** Ends the server on `dir` as a crash would, for those who cannot wait and throw its data away. */
export function abortServer(dir: string): void {
  const server = runningServer(dir)
  if (server) signal(server.pid, 'SIGQUIT')
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const goneByNow = (error as NodeJS.ErrnoException).code === 'ESRCH'
    if (!goneByNow) throw error
  }
}

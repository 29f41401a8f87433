import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Binaries } from './binaries.ts'
import { EmbeddedPostgresError } from './binaries.ts'
import { getServerUser } from './server-user.ts'

export interface RunningServer {
  pid: number
  port: number
  /** False while the server starts, recovers or stops. */
  isReady: boolean
}

/** How often programs that start or stop a server check its state. */
export const POLL_MS = 20
const STOP_TIMEOUT_MS = 30_000
const LOG_TAIL_CHARACTERS = 4_000

/** By default, commits survive a crash and a power cut, and the log contains no statements or parameters. */
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
/** Settings that callers cannot override. */
const FIXED_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  logging_collector: 'off',
  log_destination: 'stderr',
}

/**
 * Finds the server that runs on a data directory.
 *
 * @param dir an absolute path without symbolic links
 */
export function findRunningServer(dir: string): RunningServer | undefined {
  const lines = readIfPresent(path.join(dir, 'postmaster.pid'))?.split('\n')
  if (!lines) return undefined
  // The first line is the process id, the fourth the port, and the eighth the state.
  const pid = Number(lines[0])
  const port = Number(lines[3])
  if (!isServerForDirectory(dir, pid)) return undefined
  return { pid, port, isReady: port > 0 && lines[7]?.trim() === 'ready' }
}

/**
 * Returns true if the process is a server for the directory: its command line then begins with `-D <dir>`. The PID file
 * of a killed server may name a process id that another program has now.
 */
function isServerForDirectory(dir: string, pid: number): boolean {
  const [, option, folder] = readIfPresent(`/proc/${pid}/cmdline`)?.split('\0') ?? []
  return option === '-D' && folder === dir
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    // ESRCH: the process ended while its file was read.
    if (['ENOENT', 'ENOTDIR', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** A server that is starting or running. */
export interface StartingServer {
  /** The end of the server's output. */
  readonly log: string
  readonly hasEnded: boolean
  /** True if the server was stopped properly, or lost the data directory or the port to another server. */
  readonly mayStartAgain: boolean
}

/** Starts a server on loopback. It is detached from the terminal, so Ctrl-C stops the program but not its database. */
export async function startServer(
  binaries: Binaries,
  dir: string,
  settings: Readonly<Record<string, string>>,
): Promise<StartingServer> {
  const port = settings['port'] ?? String(await findFreePort())
  const allSettings = { ...DEFAULT_SETTINGS, ...settings, ...FIXED_SETTINGS, port }
  const options = Object.entries(allSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(binaries.path('postgres'), ['-D', dir, ...options], {
    ...getServerUser(),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return watchServer(child)
}

function watchServer(child: ChildProcess): StartingServer {
  let log = ''
  let hasEnded = false
  let hasStoppedProperly = false
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-LOG_TAIL_CHARACTERS)
  })
  child.once('error', (error) => {
    log += `FATAL:  ${error.message}`
    hasEnded = true
  })
  child.once('close', (exitCode) => {
    hasEnded = true
    hasStoppedProperly = exitCode === 0
  })
  // Neither the server nor the pipe from it keeps this program running.
  child.unref()
  if (child.stderr instanceof Socket) child.stderr.unref()
  return {
    get log() {
      return log
    },
    get hasEnded() {
      return hasEnded
    },
    get mayStartAgain() {
      return hasStoppedProperly || LOST_START_RACE.test(log)
    },
  }
}

/** Matches the log of a server that lost the data directory or the port to another server. */
const LOST_START_RACE =
  /lock file .* already exists|lock file .* is empty|pre-existing shared memory|could not create any TCP\/IP sockets/

/** Finds a port that is free now. If another program takes it before the server does, `mayStartAgain` is true. */
async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

/**
 * Stops the server on `dir` like `pg_ctl stop -m fast`, and waits until it has ended.
 *
 * @throws {EmbeddedPostgresError} if the server still runs after 30 s
 */
export async function stopServer(dir: string): Promise<void> {
  const server = findRunningServer(dir)
  if (!server) return
  sendSignal(server.pid, 'SIGINT')
  for (
    const deadline = performance.now() + STOP_TIMEOUT_MS;
    performance.now() < deadline;
    await sleep(POLL_MS)
  ) {
    if (findRunningServer(dir)?.pid !== server.pid) return
  }
  const seconds = STOP_TIMEOUT_MS / 1000
  throw new EmbeddedPostgresError(`PostgreSQL (process ${server.pid}) did not stop within ${seconds} s`)
}

/** Ends the server on `dir` immediately, as in a crash. For callers that discard its data. */
export function abortServer(dir: string): void {
  const server = findRunningServer(dir)
  if (server) sendSignal(server.pid, 'SIGQUIT')
}

function sendSignal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const hasEnded = (error as NodeJS.ErrnoException).code === 'ESRCH'
    if (!hasEnded) throw error
  }
}

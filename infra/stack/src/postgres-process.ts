import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { type EmbeddedPostgres, findRunningServer } from '@plainpath/postgres'
import { waitUntil } from './managed-process.ts'

/** The process of the database server, which can be stopped and started again at the same port. */
export interface PostgresProcess {
  readonly dir: string
  /** The command that started it: the program, `-D`, the folder, and its settings. */
  readonly command: readonly string[]
  /**
   * Stops the server and waits until it has ended. SIGINT disconnects all clients and shuts down cleanly. After SIGQUIT or
   * SIGKILL, the next start recovers the data.
   */
  stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
  /** Starts the server unless it is running. Resolves when it accepts connections. */
  start(): Promise<void>
  /** Freezes the server and all its processes (SIGSTOP), or lets them continue if `shouldFreeze` is false. */
  freeze(shouldFreeze: boolean): void
  readonly isRunning: boolean
}

const STOP_MS = 15_000
const START_MS = 30_000

/**
 * Creates the controls of a server.
 *
 * @param command the command that starts the server; by default the one that started the running server
 * @throws {Error} if there is no command and the server is not running
 */
export function createPostgresProcess(
  { dir }: Pick<EmbeddedPostgres, 'dir'>,
  command = readCommand(dir),
): PostgresProcess {
  return {
    dir,
    command,
    get isRunning() {
      return findRunningServer(dir) !== undefined
    },
    freeze(shouldFreeze) {
      const pid = findRunningServer(dir)?.pid
      if (pid === undefined) throw new Error('PostgreSQL is not running')
      // The server is frozen first, so that it cannot start another process meanwhile.
      for (const serverPid of [pid, ...listChildren(pid)])
        process.kill(serverPid, shouldFreeze ? 'SIGSTOP' : 'SIGCONT')
    },
    async stop(signal) {
      const pid = findRunningServer(dir)?.pid
      if (pid === undefined) throw new Error('PostgreSQL is not running')
      process.kill(pid, signal)
      if (!(await waitUntil(() => readCommandLine(pid) === undefined, STOP_MS)))
        throw new Error(`PostgreSQL did not stop within ${STOP_MS / 1000} s`)
    },
    async start() {
      const [program = '', ...options] = command
      // PostgreSQL refuses to run as root, so it runs as the owner of its data.
      const { uid, gid } = statSync(dir)
      let hasExited = true
      // The processes of a killed server hold its data for a moment, and a start fails until they have ended.
      const tryStart = () => {
        if (findRunningServer(dir)?.isReady) return true
        if (!hasExited) return false
        hasExited = false
        const child = spawn(program, options, {
          uid,
          gid,
          cwd: '/',
          env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
          detached: true,
          stdio: 'ignore',
        })
        child.once('exit', () => {
          hasExited = true
        })
        child.unref()
        return false
      }
      if (!(await waitUntil(tryStart, START_MS)))
        throw new Error(`PostgreSQL did not start within ${START_MS / 1000} s`)
    },
  }
}

function readCommand(dir: string): readonly string[] {
  const pid = findRunningServer(dir)?.pid
  const command = pid === undefined ? undefined : readCommandLine(pid)
  if (!command) throw new Error('PostgreSQL is not running')
  return command
}

function listChildren(parent: number): number[] {
  const children = readIfPresent(`/proc/${parent}/task/${parent}/children`) ?? ''
  return children.split(' ').filter(Boolean).map(Number)
}

/** Reads the command of a process. Returns undefined if the process does not exist or is a zombie. */
const readCommandLine = (pid: number) => readIfPresent(`/proc/${pid}/cmdline`)?.split('\0').slice(0, -1)

/** Reads a file below `/proc`. Returns undefined if the process has ended, or if the file is empty. */
function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8') || undefined
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

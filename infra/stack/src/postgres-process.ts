import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { type EmbeddedPostgres, runningServer } from '@plainpath/postgres'
import { until } from './managed-process.ts'

/** The process of the database server, which a test may stop and start again as it was, at the same port. */
export interface PostgresProcess {
  readonly dir: string
  /** What started it: the program, `-D`, the folder, and its settings. */
  readonly command: readonly string[]
  /** SIGINT stops it in order; SIGQUIT and SIGKILL leave its data to be recovered. Waits until it is gone. */
  stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
  /** Returns when it takes connections; at once where it does already. */
  start(): Promise<void>
  /** Stops the server and all its processes in their tracks, or lets them go on. */
  freeze(frozen: boolean): void
  readonly running: boolean
}

const STOP_MS = 15_000
const START_MS = 30_000

/** @param command how to start it, where it does not run */
export function postgresProcess(
  { dir }: Pick<EmbeddedPostgres, 'dir'>,
  command = commandOf(dir),
): PostgresProcess {
  return {
    dir,
    command,
    get running() {
      return runningServer(dir) !== undefined
    },
    freeze(frozen) {
      const pid = runningServer(dir)?.pid
      if (pid === undefined) throw new Error('PostgreSQL does not run')
      // The server first, so that it starts no process that would be left out.
      for (const each of [pid, ...childrenOf(pid)]) process.kill(each, frozen ? 'SIGSTOP' : 'SIGCONT')
    },
    async stop(signal) {
      const pid = runningServer(dir)?.pid
      if (pid === undefined) throw new Error('PostgreSQL does not run')
      process.kill(pid, signal)
      if (!(await until(() => commandLine(pid) === undefined, STOP_MS)))
        throw new Error(`PostgreSQL did not stop within ${STOP_MS / 1000} s`)
    },
    async start() {
      const [program = '', ...options] = command
      const { uid, gid } = statSync(dir)
      let ended = true
      // What is left of a killed server holds its data for a moment; then a start fails at once.
      const tryAgain = () => {
        if (runningServer(dir)?.ready) return true
        if (!ended) return false
        ended = false
        const child = spawn(program, options, {
          uid,
          gid,
          cwd: '/',
          env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
          detached: true,
          stdio: 'ignore',
        })
        child.once('exit', () => {
          ended = true
        })
        child.unref()
        return false
      }
      if (!(await until(tryAgain, START_MS)))
        throw new Error(`PostgreSQL did not start within ${START_MS / 1000} s`)
    },
  }
}

function commandOf(dir: string): readonly string[] {
  const pid = runningServer(dir)?.pid
  const command = pid === undefined ? undefined : commandLine(pid)
  if (!command) throw new Error('PostgreSQL does not run')
  return command
}

function childrenOf(parent: number): number[] {
  const children = readIfThere(`/proc/${parent}/task/${parent}/children`) ?? ''
  return children.split(' ').filter(Boolean).map(Number)
}

/** Undefined when there is no such process, or nothing is left of it but its exit code. */
const commandLine = (pid: number) => readIfThere(`/proc/${pid}/cmdline`)?.split('\0').slice(0, -1)

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8') || undefined
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

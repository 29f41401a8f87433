import { Logger, runTaskList, type WorkerPool } from 'graphile-worker'
import { jobPool } from './job-pool.ts'
import { MAIL_TASK, MailJob } from './mail-job.ts'
import { SECOND_MS } from './times.ts'

export interface WorkerLog {
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

const CONCURRENCY = 2
const DRAIN_MS = 10 * SECOND_MS
/** Without a batch the library lets a job that cannot be settled end the process, by a rejection nobody handles. */
const SETTLED_TOGETHER = { completeJobBatchDelay: 0, failJobBatchDelay: 0 }

export interface WorkerIntervals {
  /** How often a worker looks for jobs that it was not notified of, such as retries that fell due. */
  readonly pollMs: number
  /** How long to wait before another try when the database is away. */
  readonly restartMs: number
}

export const WORKER_INTERVALS: WorkerIntervals = { pollMs: 2 * SECOND_MS, restartMs: 2 * SECOND_MS }

/**
 * Works mail jobs until disposed; several processes share them. A database that is away, now or later, is tried again
 * every `restartMs`. Disposing takes no new job and waits 10 s for those that run; what is cut off then is sent again.
 */
export function workJobs(
  databaseUrl: string,
  options: {
    work: (id: string) => Promise<void>
    log: WorkerLog
    intervals?: WorkerIntervals | undefined
  },
): AsyncDisposable {
  const { work, log, intervals = WORKER_INTERVALS } = options
  const pool = jobPool(databaseUrl)
  const stopping = new AbortController()
  let workers: WorkerPool | undefined
  const tasks = {
    [MAIL_TASK]: async (payload: unknown) => {
      await work(MailJob.parse(payload).id)
    },
  }

  async function runUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await pool.query('select 1')
        if (stopping.signal.aborted) return
        workers = runTaskList(
          {
            ...{ concurrency: CONCURRENCY, pollInterval: intervals.pollMs, noHandleSignals: true },
            logger: quietLogger(),
            preset: { worker: SETTLED_TOGETHER },
          },
          tasks,
          pool,
        )
        await workers.promise
      } catch (error) {
        if (stopping.signal.aborted) return
        log.error('the mail worker stopped, and starts again', { reason: reasonOf(error) })
      }
      if (!stopping.signal.aborted) await pause(intervals.restartMs, stopping.signal)
    }
  }
  const running = runUntilStopped()

  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      const cut = setTimeout(() => {
        log.warn('a mail was being sent when the process stopped, and will be sent again')
        void Promise.resolve(workers?.forcefulShutdown('stopping')).catch(() => undefined)
      }, DRAIN_MS)
      try {
        await Promise.resolve(workers?.gracefulShutdown('stopping')).catch(() => undefined)
        await running
      } finally {
        clearTimeout(cut)
        await pool.end()
      }
    },
  }
}

/** What the library says is written for its authors and names payloads; what matters is told by `sendMail`. */
const quietLogger = () => new Logger(() => () => undefined)

const reasonOf = (error: unknown) => (error instanceof Error ? error.name : typeof error)

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise.finally(() => clearTimeout(timer))
}

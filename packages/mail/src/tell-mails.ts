import { type Database, isUnavailable } from '@plainpath/postgres'
import type { WorkerLog } from './job-worker.ts'
import { ADD_MAIL_JOBS } from './mail-job.ts'

export interface MailTeller extends AsyncDisposable {
  /** To be called once the mail is committed; a moment later its job is there. */
  tell(id: string): void
}

/** How long mails wait for others. Workers are woken no more often than this. */
const TOGETHER_MS = 25
const BATCH = 500
/** What is more is left to `upkeep`. */
const MOST_WAITING = 10_000
const AGAIN_MS = 1_000
/** Of a store that is away, one after the other. */
const MOST_FAILURES = 30

/**
 * Makes the jobs of mails that are committed already, of many in one statement: PostgreSQL commits transactions that
 * notify one after the other, each waiting for the disk alone, so a job in each transaction bounds them all.
 *
 * A store that is away is asked again every second, for half a minute; to tell a mail twice does no harm. A mail that is
 * not told, since the store was away for longer or the process killed, is found by its `overdue_at` like one whose worker
 * was killed. Disposing tells what waits.
 */
export function tellMails({
  db,
  log,
  againMs = AGAIN_MS,
}: {
  db: Database
  log: Pick<WorkerLog, 'warn'>
  againMs?: number
}): MailTeller {
  const waiting: string[] = []
  let timer: NodeJS.Timeout | undefined
  let telling: Promise<void> = Promise.resolve()
  let failures = 0
  let stopping = false

  async function tellSome(): Promise<void> {
    const ids = waiting.splice(0, BATCH)
    try {
      await db.query(ADD_MAIL_JOBS, [ids])
      failures = 0
    } catch (error) {
      failures += 1
      if (!stopping && failures < MOST_FAILURES && isUnavailable(error)) {
        waiting.unshift(...ids)
        return
      }
      const mails = ids.length + waiting.splice(0).length
      log.warn('mails were not told to the workers, and are found later', { mails, error })
    }
  }

  function tellSoon(): void {
    timer = setTimeout(
      () => {
        telling = tellSome().then(() => {
          timer = undefined
          if (waiting.length > 0) tellSoon()
        })
      },
      failures > 0 ? againMs : TOGETHER_MS,
    )
  }

  return {
    tell(id) {
      if (waiting.length >= MOST_WAITING) return
      waiting.push(id)
      if (timer === undefined) tellSoon()
    },
    async [Symbol.asyncDispose]() {
      stopping = true
      await telling
      clearTimeout(timer)
      while (waiting.length > 0) await tellSome()
    },
  }
}

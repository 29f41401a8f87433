import type { Pool } from '@plainpath/postgres'
import type { HashKey, SealingKeys } from '@plainpath/sealing'
import type { Registry } from 'prom-client'
import { type WorkerIntervals, type WorkerLog, workJobs } from './job-worker.ts'
import { MAIL_CAPS, type MailCaps } from './mail-caps.ts'
import { mailMetrics } from './mail-metrics.ts'
import { DeliveryError, type MailTransport } from './mail-transport.ts'
import { forgetMails, rescueMails } from './mail-upkeep.ts'
import { type MailHandler, sendMail, settle } from './send-mail.ts'
import { SECOND_MS } from './times.ts'

const UPKEEP_MS = 10 * SECOND_MS

export interface MailerOptions {
  /** As the app's role; the worker opens at most four connections of its own. */
  readonly databaseUrl: string
  readonly db: Pool
  readonly sealingKeys: SealingKeys
  /** For the hashes of the caps. */
  readonly hashKey: HashKey
  /** Disposed with the mailer. */
  readonly transport: MailTransport
  /** The address that mails come from. */
  readonly from: string
  /** By kind. Mail of another kind waits for an instance that knows it. */
  readonly handlers: Readonly<Record<string, MailHandler>>
  readonly caps?: MailCaps
  /** `WORKER_INTERVALS` when absent. */
  readonly intervals?: WorkerIntervals
  readonly log: WorkerLog
  readonly metrics: { readonly registry: Registry; swept(sweep: string): void }
  readonly now: () => Date
}

export interface Mailer extends AsyncDisposable {
  /** What it also does every 10 s: makes jobs anew that a killed worker held, and erases what was kept long enough. */
  upkeep(): Promise<void>
}

/** Sends what `mailQueue` keeps, beside the mailers of other processes, until disposed. The store need not answer yet. */
export function openMailer(options: MailerOptions): Mailer {
  const { db, transport, log, now } = options
  const metrics = mailMetrics(options.metrics.registry, { db, kinds: Object.keys(options.handlers), now })
  const deps = { ...options, caps: options.caps ?? MAIL_CAPS, metrics }

  async function work(id: string): Promise<void> {
    try {
      await sendMail(deps, id)
    } catch (error) {
      log.warn('a mail was not sent, and is tried again', { mail: id, error })
      // The library keeps this text beside the job.
      throw error instanceof DeliveryError ? error : new Error('not sent', { cause: undefined })
    }
  }

  async function upkeep(): Promise<void> {
    const spent = await db.transaction((tx) => rescueMails(tx, now()))
    for (const id of spent) await settle(deps, id, 'dead', 'spent')
    await forgetMails(db, now())
    await transport.sweep?.(now())
    options.metrics.swept('mails')
  }

  options.metrics.swept('mails')
  const worker = workJobs(options.databaseUrl, { work, log, intervals: options.intervals })
  let tending: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    tending = upkeep().catch((error: unknown) => log.error('the upkeep of mails failed', { error }))
  }, UPKEEP_MS)
  return {
    upkeep,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await worker[Symbol.asyncDispose]()
      await tending
      transport[Symbol.dispose]()
    },
  }
}

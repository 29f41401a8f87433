import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from '@plainpath/postgres'
import type { Registry } from 'prom-client'
import { type MailCaps, releaseWaitingMails, scaledMailCaps } from './mail-caps.ts'
import { mailMetrics } from './mail-metrics.ts'
import { MAILS_CHANNEL } from './mail-queue.ts'
import { type SendMailDeps, sendMail, settle } from './send-mail.ts'
import {
  findMailsToGiveUp,
  findSpentMails,
  forgetMails,
  type LeasedMail,
  leaseNextMail,
} from './stored-mail.ts'

const UPKEEP_MS = 10_000
const CONCURRENCY = 2
const DRAIN_MS = 10_000

export interface MailerIntervals {
  /** How often a mailer polls for mails of which it was not notified, such as those whose pause is over. */
  readonly pollMs: number
  /** The pause before another try while the database is unavailable. */
  readonly restartMs: number
}

export const MAILER_INTERVALS: MailerIntervals = { pollMs: 2_000, restartMs: 2_000 }

type LogLine = (message: string, fields?: Record<string, unknown>) => void

export interface MailerOptions extends Omit<SendMailDeps, 'caps' | 'metrics'> {
  /** With the app's role. The mailer opens one connection of its own to receive notifications. */
  readonly databaseUrl: string
  readonly caps?: MailCaps
  /** `MAILER_INTERVALS` when absent. */
  readonly intervals?: MailerIntervals
  readonly log: { readonly warn: LogLine; readonly error: LogLine }
  readonly metrics: { readonly registry: Registry; swept(sweep: string): void }
}

export interface Mailer extends AsyncDisposable {
  /**
   * Releases waiting mails for which the caps have room, settles mails that have no attempt left or waited too long, and
   * erases what is past its retention. The mailer also does this every 10 s.
   */
  upkeep(): Promise<void>
}

/**
 * Sends due mails until it is disposed; mailers of several processes share the work. While the database is unavailable, it
 * tries again every `restartMs`. Disposing leases no further mail and waits at most 10 s for deliveries in progress; a mail
 * whose delivery is interrupted is sent again after its lease.
 */
export function openMailer(options: MailerOptions): Mailer {
  const { db, transport, log, now, intervals = MAILER_INTERVALS } = options
  const metrics = mailMetrics(options.metrics.registry, { db, kinds: Object.keys(options.handlers), now })
  const deps = { ...options, caps: options.caps ?? scaledMailCaps(1), metrics }
  const domain = options.from.slice(options.from.lastIndexOf('@') + 1)
  const stopping = new AbortController()
  let wakeUp = Promise.withResolvers<void>()
  const wake = () => wakeUp.resolve()

  async function sendUntilStopped(): Promise<void> {
    const sending = new Set<Promise<void>>()
    while (!stopping.signal.aborted) {
      // Created before the query, so that a notification during the query is not missed.
      wakeUp = Promise.withResolvers<void>()
      try {
        const mail = await leaseNextMail(db, domain, now())
        if (mail === undefined) {
          const poll = setTimeout(wake, intervals.pollMs)
          await wakeUp.promise
          clearTimeout(poll)
          continue
        }
        const sent = send(mail).finally(() => sending.delete(sent))
        sending.add(sent)
        if (sending.size >= CONCURRENCY) await Promise.race(sending)
      } catch (error) {
        const reason = error instanceof Error ? error.name : typeof error
        log.error('the mail worker stopped, and starts again', { reason })
        await pause(intervals.restartMs, stopping.signal)
      }
    }
    await Promise.all(sending)
  }

  const send = (mail: LeasedMail): Promise<void> =>
    sendMail(deps, mail).catch((error: unknown) =>
      log.warn('a mail was not sent, and is tried again', { mail: mail.id, error }),
    )

  /** Drops a mail that waited too long, and reports it unless its handler no longer wants it. */
  async function giveUp({ id, kind, about }: { id: string; kind: string; about: string }): Promise<void> {
    const checkWanted = options.handlers[kind]?.isWanted
    const isWanted = checkWanted === undefined || (await checkWanted(about))
    const hasDropped = await settle(deps, id, 'dropped', isWanted ? 'waited' : 'unwanted')
    if (isWanted && hasDropped)
      log.error('a mail found no room under the caps in time, and is not sent', { mail: id })
  }

  /** Settles mails one after the other. A failure is logged, and does not prevent the others from being settled. */
  async function settleEach<T>(mails: readonly T[], settleOne: (mail: T) => Promise<unknown>): Promise<void> {
    for (const mail of mails)
      await settleOne(mail).catch((error: unknown) =>
        log.error('a mail could not be settled, and is tried again', { error }),
      )
  }

  async function upkeep(): Promise<void> {
    await settleEach(await findSpentMails(db, now()), (id) => settle(deps, id, 'dead', 'spent'))
    await settleEach(await findMailsToGiveUp(db, now()), giveUp)
    const overMailboxCap = await db.transaction((tx) => releaseWaitingMails(tx, deps, now()))
    await settleEach(overMailboxCap, (id) => settle(deps, id, 'dropped', 'cap-mailbox'))
    wake()
    await forgetMails(db, now())
    await transport.sweep?.(now())
    options.metrics.swept('mails')
  }

  options.metrics.swept('mails')
  const worker = sendUntilStopped()
  const listening = listenUntilStopped(options.databaseUrl, {
    wake,
    log,
    retryMs: intervals.restartMs,
    signal: stopping.signal,
  })
  let runningUpkeep: Promise<void> | undefined
  const timer = setInterval(() => {
    runningUpkeep ??= upkeep()
      .catch((error: unknown) => log.error('the upkeep of mails failed', { error }))
      .finally(() => {
        runningUpkeep = undefined
      })
  }, UPKEEP_MS)
  return {
    upkeep,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      stopping.abort()
      wake()
      const inTime = worker.then(() => true)
      if (!(await Promise.race([inTime, sleep(DRAIN_MS, false, { ref: false })])))
        log.warn('a mail was being sent when the process stopped, and will be sent again')
      await Promise.all([listening, runningUpkeep])
      transport[Symbol.dispose]()
    },
  }
}

/** Calls `wake` when a mail is stored, and when notifications may have been lost; resolves after `signal`. */
async function listenUntilStopped(
  databaseUrl: string,
  options: { wake: () => void; log: MailerOptions['log']; retryMs: number; signal: AbortSignal },
): Promise<void> {
  const { wake, log, retryMs, signal } = options
  while (!signal.aborted) {
    try {
      await using _listener = await listen(
        databaseUrl,
        { [MAILS_CHANNEL]: wake },
        { onReconnected: wake, log },
      )
      await aborted(signal)
    } catch {
      // The worker, which uses the same database, logs that it is unavailable.
      await pause(retryMs, signal)
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined)

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from '@plainpath/postgres'
import type { Registry } from 'prom-client'
import { type MailCaps, releaseWaitingMails, scaleMailCaps } from './mail-caps.ts'
import { createMailMetrics } from './mail-metrics.ts'
import { MAILS_CHANNEL } from './mail-queue.ts'
import { type SendMailDeps, sendMail, settle } from './send-mail.ts'
import {
  findMailsToGiveUp,
  findSpentMails,
  forgetMails,
  type LeasedMail,
  leaseNextMail,
  type MailReference,
} from './stored-mail.ts'

const UPKEEP_INTERVAL_MS = 10_000
const MAX_CONCURRENT_DELIVERIES = 2
const DRAIN_MS = 10_000

export interface MailerIntervals {
  /** How often a mailer polls for due mails of which it was not notified, such as mails that are due for another attempt. */
  readonly pollMs: number
  /** The pause after an error, for example while the database is unavailable. */
  readonly restartMs: number
}

export const MAILER_INTERVALS: MailerIntervals = { pollMs: 2_000, restartMs: 2_000 }

type WriteLogLine = (message: string, fields?: Record<string, unknown>) => void

export interface MailerOptions extends Omit<SendMailDeps, 'caps' | 'metrics'> {
  /** The database URL with the app's role. The mailer opens its own connection to receive notifications. */
  readonly databaseUrl: string
  readonly caps?: MailCaps
  /** By default `MAILER_INTERVALS`. */
  readonly intervals?: MailerIntervals
  /**
   * Returns whether the clocks of this machine and the database agree. Until they do, the mailer does nothing: with a skewed clock, it
   * would send held mails too early, erase too much, and make leases that other mailers do not respect.
   */
  readonly isClockSynchronised: () => boolean
  readonly log: { readonly warn: WriteLogLine; readonly error: WriteLogLine }
  readonly metrics: { readonly registry: Registry; recordSweep(sweep: string): void }
}

export interface Mailer extends AsyncDisposable {
  /**
   * Releases waiting mails for which there is room under the caps, settles mails that have no attempts left or waited too long, and erases data
   * whose retention has ended. The mailer also runs this every 10 s. Does nothing while the clock is not synchronised.
   */
  runUpkeep(): Promise<void>
}

/**
 * Opens a mailer, which sends due mails until it is disposed of. Mailers of several processes share the work. While the database is
 * unavailable, the mailer tries again every `restartMs`. Disposing waits at most 10 s for deliveries in progress. If a delivery is
 * interrupted, the mail is sent again after its lease.
 */
export function openMailer(options: MailerOptions): Mailer {
  const { db, transport, log, now, isClockSynchronised, intervals = MAILER_INTERVALS } = options
  const metrics = createMailMetrics(options.metrics.registry, {
    db,
    kinds: Object.keys(options.handlers),
    now,
  })
  const deps = { ...options, caps: options.caps ?? scaleMailCaps(1), metrics }
  const senderDomain = options.from.slice(options.from.lastIndexOf('@') + 1)
  const stop = new AbortController()
  let wakeUpCall = Promise.withResolvers<void>()
  const wake = () => wakeUpCall.resolve()

  async function sendUntilStopped(): Promise<void> {
    const deliveries = new Set<Promise<void>>()
    while (!stop.signal.aborted) {
      // Created before the query, because a notification may arrive during the query.
      wakeUpCall = Promise.withResolvers<void>()
      try {
        const mail = isClockSynchronised() ? await leaseNextMail(db, senderDomain, now()) : undefined
        if (mail === undefined) {
          const pollTimer = setTimeout(wake, intervals.pollMs)
          await wakeUpCall.promise
          clearTimeout(pollTimer)
          continue
        }
        const delivery = send(mail).finally(() => deliveries.delete(delivery))
        deliveries.add(delivery)
        if (deliveries.size >= MAX_CONCURRENT_DELIVERIES) await Promise.race(deliveries)
      } catch (error) {
        const reason = error instanceof Error ? error.name : typeof error
        log.error('the mailer stopped, and will start again', { reason })
        await pause(intervals.restartMs, stop.signal)
      }
    }
    await Promise.all(deliveries)
  }

  const send = (mail: LeasedMail): Promise<void> =>
    sendMail(deps, mail).catch((error: unknown) =>
      log.warn('a mail could not be sent, and will be tried again', { mail: mail.id, error }),
    )

  /** Drops a mail that waited too long. Logs that, unless the handler of the mail no longer wants it. */
  async function giveUp(mail: MailReference): Promise<void> {
    const checkWanted = options.handlers[mail.kind]?.isWanted
    const isWanted = checkWanted === undefined || (await checkWanted(mail.about))
    const wasDropped = await settle(deps, mail, 'dropped', isWanted ? 'waited' : 'unwanted')
    if (isWanted && wasDropped)
      log.error('a mail found no room under the caps in time, and is not sent', { mail: mail.id })
  }

  /** Settles mails one after the other. If one fails, logs that and continues with the others. */
  async function settleEach<T>(mails: readonly T[], settleOne: (mail: T) => Promise<unknown>): Promise<void> {
    for (const mail of mails)
      await settleOne(mail).catch((error: unknown) =>
        log.error('the outcome of a mail could not be recorded, and will be recorded later', { error }),
      )
  }

  async function runUpkeep(): Promise<void> {
    if (!isClockSynchronised()) return
    await settleEach(await findSpentMails(db, now()), (mail) => settle(deps, mail, 'dead', 'spent'))
    await settleEach(await findMailsToGiveUp(db, now()), giveUp)
    const mailsOverMailboxCap = await db.transaction((tx) => releaseWaitingMails(tx, deps, now()))
    await settleEach(mailsOverMailboxCap, (mail) => settle(deps, mail, 'dropped', 'cap-mailbox'))
    // The released mails are due now.
    wake()
    await forgetMails(db, now())
    await transport.sweep?.(now())
    options.metrics.recordSweep('mails')
  }

  // Recorded at the start too, so that upkeep that never succeeds becomes overdue.
  options.metrics.recordSweep('mails')
  const sendLoop = sendUntilStopped()
  const listener = listenUntilStopped(options.databaseUrl, {
    wake,
    log,
    retryMs: intervals.restartMs,
    signal: stop.signal,
  })
  let runningUpkeep: Promise<void> | undefined
  const timer = setInterval(() => {
    runningUpkeep ??= runUpkeep()
      .catch((error: unknown) => log.error('the upkeep of mails failed', { error }))
      .finally(() => {
        runningUpkeep = undefined
      })
  }, UPKEEP_INTERVAL_MS)
  return {
    runUpkeep,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      stop.abort()
      wake()
      const sendLoopEnd = sendLoop.then(() => true)
      const isDrained = await Promise.race([sendLoopEnd, sleep(DRAIN_MS, false, { ref: false })])
      if (!isDrained) log.warn('a mail was being sent when the process stopped, and will be sent again')
      await Promise.all([listener, runningUpkeep])
      transport[Symbol.dispose]()
    },
  }
}

/** Calls `wake` when a mail is stored, and when notifications may have been lost. Resolves when `signal` is aborted. */
async function listenUntilStopped(
  databaseUrl: string,
  options: { wake: () => void; log: MailerOptions['log']; retryMs: number; signal: AbortSignal },
): Promise<void> {
  const { wake, log, retryMs, signal } = options
  while (!signal.aborted) {
    try {
      await using _listener = await listen(databaseUrl, { [MAILS_CHANNEL]: wake }, { onConnected: wake, log })
      await waitForAbort(signal)
    } catch {
      // `sendUntilStopped`, which uses the same database, logs that it is unavailable.
      await pause(retryMs, signal)
    }
  }
}

async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Waits for `ms` milliseconds, or until `signal` is aborted, which makes `sleep` reject. */
const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined)

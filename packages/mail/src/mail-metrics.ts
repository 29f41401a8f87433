import type { Database } from '@plainpath/postgres'
import { Counter, Gauge, type Registry } from 'prom-client'
import { z } from 'zod'
import type { MailOutcome } from './mail.ts'
import { IS_WAITING } from './mail-caps.ts'

const CAPS = ['domain', 'all'] as const

const QueuedMailCounts = z.array(
  z.object({ kind: z.string(), cap: z.enum(CAPS).nullable(), count: z.int(), oldest: z.date() }),
)

/**
 * The reason why a mail was settled: the `reason` label of `mails_settled_total`.
 * - `accepted`: the server accepted it.
 * - `unwanted`: its handler no longer wants it.
 * - `cap-mailbox`: the cap of its mailbox is used up.
 * - `waited`: it found no room under a shared cap in time.
 * - `refused`: the server refused its recipient permanently.
 * - `spent`: its last attempt failed or was interrupted.
 */
export type SettledReason = 'accepted' | 'unwanted' | 'cap-mailbox' | 'waited' | 'refused' | 'spent'

export interface MailMetrics {
  countSettled(kind: string, outcome: MailOutcome, reason: SettledReason): void
  /** Counts a failed attempt after which the mail is tried again. */
  countFailure(kind: string): void
}

/**
 * Registers the mail metrics. Each scrape reads the gauges from the database once. If the read fails, the scrape returns the
 * previous values.
 *
 * @param options.kinds the mail kinds. Their series start at 0, so that the first mail counts as an increase. Only the series of
 *   `mails_settled_total` for the reasons `unwanted` and `cap-mailbox` begin with their first mail
 */
export function createMailMetrics(
  registry: Registry,
  { db, kinds, now }: { db: Database; kinds: readonly string[]; now: () => Date },
): MailMetrics {
  const registers = [registry]
  let pendingRead: Promise<void> | undefined
  // A scrape collects the three gauges at the same time, so they share one read.
  const collect = () => (pendingRead ??= readGauges().finally(() => (pendingRead = undefined)))
  const queuedGauge = new Gauge({
    name: 'mails_queued',
    help: 'Mails in the queue, by kind, without mails that wait because a cap is reached',
    labelNames: ['kind'],
    registers,
    collect,
  })
  const ageGauge = new Gauge({
    name: 'mails_oldest_queued_seconds',
    help: 'Age in seconds of the oldest mail in mails_queued, by kind. A mail that is scheduled for later has age 0 until then',
    labelNames: ['kind'],
    registers,
    collect,
  })
  const deferredGauge = new Gauge({
    name: 'mails_deferred',
    help: 'Mails that wait because the cap for their domain or for all mail is reached, by kind and cap',
    labelNames: ['kind', 'cap'],
    registers,
    collect,
  })
  async function readGauges(): Promise<void> {
    const rows = await readQueuedMails(db)
    if (rows === undefined) return
    for (const gauge of [queuedGauge, ageGauge, deferredGauge]) gauge.reset()
    for (const kind of kinds) {
      queuedGauge.set({ kind }, 0)
      ageGauge.set({ kind }, 0)
      for (const cap of CAPS) deferredGauge.set({ kind, cap }, 0)
    }
    for (const { kind, cap, count, oldest: createdAt } of rows) {
      if (cap) deferredGauge.set({ kind, cap }, count)
      else {
        queuedGauge.set({ kind }, count)
        ageGauge.set({ kind }, Math.max(0, now().getTime() - createdAt.getTime()) / 1_000)
      }
    }
  }
  const settledCounter = new Counter({
    name: 'mails_settled_total',
    help: 'Mails that were sent, dropped or given up, by kind, outcome and reason',
    labelNames: ['kind', 'outcome', 'reason'],
    registers,
  })
  const failureCounter = new Counter({
    name: 'mail_attempts_failed_total',
    help: 'Failed deliveries that will be retried, by kind',
    labelNames: ['kind'],
    registers,
  })
  for (const kind of kinds) {
    failureCounter.inc({ kind }, 0)
    settledCounter.inc({ kind, outcome: 'sent', reason: 'accepted' }, 0)
    for (const reason of ['spent', 'refused']) settledCounter.inc({ kind, outcome: 'dead', reason }, 0)
    settledCounter.inc({ kind, outcome: 'dropped', reason: 'waited' }, 0)
  }
  return {
    countSettled: (kind, outcome, reason) => settledCounter.inc({ kind, outcome, reason }),
    countFailure: (kind) => failureCounter.inc({ kind }),
  }
}

/** Counts the queued mails by kind and cap. Returns undefined if the read fails for any reason, so that it never fails the scrape. */
async function readQueuedMails(db: Database) {
  try {
    const { rows } = await db.query(
      `select kind, case when ${IS_WAITING} then deferred_by end as cap, count(*) as count, min(created_at) as oldest
       from mails where state = 'queued' group by 1, 2`,
    )
    return QueuedMailCounts.parse(rows)
  } catch {
    return undefined
  }
}

import type { Database } from '@plainpath/postgres'
import { Counter, Gauge, type Registry } from 'prom-client'
import { z } from 'zod'
import type { MailOutcome } from './mail.ts'
import { WAITING } from './mail-caps.ts'

const CAPS = ['domain', 'all'] as const

const Rows = z.array(
  z.object({ kind: z.string(), cap: z.enum(CAPS).nullable(), count: z.int(), oldest: z.date() }),
)

/** Why a mail was settled: the label `reason` of `mails_settled_total`. */
export type SettledReason = 'accepted' | 'unwanted' | 'cap-mailbox' | 'waited' | 'refused' | 'spent'

export interface MailMetrics {
  settled(kind: string, outcome: MailOutcome, reason: SettledReason): void
  failed(kind: string): void
}

/**
 * Registers the metrics of mail. The numbers of waiting mails are read from the database once per scrape; while the database
 * is unavailable, a scrape shows the numbers that were read last.
 *
 * @param options.kinds the kinds that are exported as 0 until there is a mail, so that the first mail is an increase
 */
export function mailMetrics(
  registry: Registry,
  { db, kinds, now }: { db: Database; kinds: readonly string[]; now: () => Date },
): MailMetrics {
  const registers = [registry]
  let reading: Promise<void> | undefined
  // A scrape collects all three gauges at once.
  const collect = () => (reading ??= readGauges().finally(() => (reading = undefined)))
  const queued = new Gauge({
    name: 'mails_queued',
    help: 'Mails that wait to be sent, by kind, without those that wait for room under a cap',
    labelNames: ['kind'],
    registers,
    collect,
  })
  const oldest = new Gauge({
    name: 'mails_oldest_queued_seconds',
    help: 'Age of the oldest mail that waits, by kind; a mail that is to be sent later has none until then',
    labelNames: ['kind'],
    registers,
    collect,
  })
  const deferred = new Gauge({
    name: 'mails_deferred',
    help: 'Mails that wait for room under the cap of their domain or of all, by kind and cap',
    labelNames: ['kind', 'cap'],
    registers,
    collect,
  })
  async function readGauges(): Promise<void> {
    const rows = await readQueued(db)
    if (rows === undefined) return
    for (const gauge of [queued, oldest, deferred]) gauge.reset()
    for (const kind of kinds) {
      queued.set({ kind }, 0)
      oldest.set({ kind }, 0)
      for (const cap of CAPS) deferred.set({ kind, cap }, 0)
    }
    for (const { kind, cap, count, oldest: createdAt } of rows) {
      if (cap) deferred.set({ kind, cap }, count)
      else {
        queued.set({ kind }, count)
        oldest.set({ kind }, Math.max(0, now().getTime() - createdAt.getTime()) / 1_000)
      }
    }
  }
  const settled = new Counter({
    name: 'mails_settled_total',
    help: 'Mails sent, dropped or given up, by kind and reason',
    labelNames: ['kind', 'outcome', 'reason'],
    registers,
  })
  const failures = new Counter({
    name: 'mail_attempts_failed_total',
    help: 'Deliveries that failed and are tried again, by kind',
    labelNames: ['kind'],
    registers,
  })
  for (const kind of kinds) {
    failures.inc({ kind }, 0)
    settled.inc({ kind, outcome: 'sent', reason: 'accepted' }, 0)
    for (const reason of ['spent', 'refused']) settled.inc({ kind, outcome: 'dead', reason }, 0)
    settled.inc({ kind, outcome: 'dropped', reason: 'waited' }, 0)
  }
  return {
    settled: (kind, outcome, reason) => settled.inc({ kind, outcome, reason }),
    failed: (kind) => failures.inc({ kind }),
  }
}

async function readQueued(db: Database) {
  try {
    const { rows } = await db.query(
      `select kind, case when ${WAITING} then deferred_by end as cap, count(*) as count, min(created_at) as oldest
       from mails where state = 'queued' group by 1, 2`,
    )
    return Rows.parse(rows)
  } catch {
    return undefined
  }
}

import { fileURLToPath } from 'node:url'
import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import {
  type HashKey,
  newHashKey,
  newKeyEncryptionKey,
  parseHashKey,
  parseKeyEncryptionKeys,
  type SealingKeys,
} from '@plainpath/sealing'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import type { Mail } from '../src/mail.ts'
import { createMailQueue } from '../src/mail-queue.ts'
import { createSmtpTransport } from '../src/mail-transport.ts'
import { type Mailer, type MailerOptions, openMailer } from '../src/open-mailer.ts'
import { type MailServer, startMailServer } from './mail-server.ts'

export const MIGRATIONS = fileURLToPath(new URL('./migrations', import.meta.url))

export interface Mailing extends AsyncDisposable {
  readonly database: TestDatabase
  readonly db: Pool
  readonly server: MailServer
  readonly sealingKeys: SealingKeys
  readonly hashKey: HashKey
  readonly logged: string[]
  readonly registry: Registry
  /** The time that mailers see. A test may change it. */
  clock: { now: Date }
  /** Adds a mail to Ana with the given changes. Returns its id. */
  add(change?: Partial<Mail>, dueAt?: Date): Promise<string>
  /** Starts a mailer. Only the first one of a test writes its metrics to `registry`. */
  start(change?: Partial<MailerOptions>): Mailer
  /** Reads a mail's row. Returns an empty object if there is none. */
  state(id: string): Promise<Record<string, unknown>>
  /** Waits, at most 40 s, until the mail has this state. Returns its row. */
  becomes(id: string, state: string): Promise<Record<string, unknown>>
  /** Waits, at most 10 s, until an attempt to send a mail has failed. Then makes the mail due without its pause. */
  retryNow(): Promise<void>
}

/** Polls often, so that tests are fast. */
const SHORT_INTERVALS = { pollMs: 50, restartMs: 50 }

/** Opens a mail queue in a new database, and starts an SMTP server. Mailers connect with the app's role. */
export async function startMailing(folder = MIGRATIONS): Promise<Mailing> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder, name: 'mail' }))
  const db = opening.use(openPool(database.appUrl))
  const server = opening.use(await startMailServer())
  const sealingKeys = parseKeyEncryptionKeys(newKeyEncryptionKey())
  const hashKey = parseHashKey(newHashKey())
  const queue = createMailQueue({ sealingKeys, hashKey, waiting: { sender: 4, all: 10 } })
  const registry = new Registry()
  const logged: string[] = []
  const logLine = (message: string, fields?: object) =>
    void logged.push(`${message} ${JSON.stringify(fields)}`)
  const clock = { now: new Date() }
  const resources = new AsyncDisposableStack()
  let mailerCount = 0
  const mailing: Mailing = {
    database,
    db,
    server,
    sealingKeys,
    hashKey,
    logged,
    registry,
    clock,
    add: (change, dueAt) =>
      db.transaction((tx) =>
        queue.add(
          tx,
          {
            kind: 'note',
            about: 'note-1',
            to: 'ana@example.org',
            subject: 'A note',
            text: 'Canary text.\n',
            ...change,
          },
          mailing.clock.now,
          dueAt,
        ),
      ),
    start(change) {
      const mailer = openMailer({
        databaseUrl: database.appUrl,
        db,
        sealingKeys,
        hashKey,
        handlers: { note: {} },
        transport: createSmtpTransport(server.url),
        from: 'no-reply@plainpath.example',
        log: { warn: logLine, error: logLine },
        metrics: { registry: mailerCount++ === 0 ? registry : new Registry(), recordSweep: () => undefined },
        now: () => mailing.clock.now,
        intervals: SHORT_INTERVALS,
        ...change,
      })
      return resources.use({ upkeep: mailer.upkeep, [Symbol.asyncDispose]: disposeOnce(mailer) })
    },
    async state(id) {
      const { rows } = await db.query('select * from mails where id = $1', [id])
      return rows[0] ?? {}
    },
    async becomes(id, state) {
      const deadline = performance.now() + 40_000
      for (;;) {
        const row = await mailing.state(id)
        if (row['state'] === state) return row
        if (performance.now() > deadline) throw new Error(`the mail is ${String(row['state'])}, not ${state}`)
        await db.query('select pg_sleep(0.02)')
      }
    },
    retryNow: () => retryFailedMail(db, clock),
    async [Symbol.asyncDispose]() {
      await resources.disposeAsync()
      await stores.disposeAsync()
    },
  }
  const stores = opening.move()
  return mailing
}

/** Makes disposing idempotent: a test may dispose of a mailer before its end, which disposes of it again. */
function disposeOnce(mailer: Mailer): () => Promise<void> {
  let disposal: Promise<void> | undefined
  return () => (disposal ??= Promise.resolve(mailer[Symbol.asyncDispose]()))
}

async function retryFailedMail(db: Pool, clock: { now: Date }): Promise<void> {
  const makeFailedMailDue = () =>
    db.query(
      `update mails set overdue_at = $1 where state = 'queued' and attempts > 0 and leased_until is null`,
      [clock.now],
    )
  await expect.poll(async () => (await makeFailedMailDue()).rowCount, { timeout: 10_000 }).toBe(1)
}

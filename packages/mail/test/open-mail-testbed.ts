import { fileURLToPath } from 'node:url'
import { openPool, type Pool } from '@plainpath/postgres'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import {
  createSealer,
  generateHashKey,
  generateKeyEncryptionKey,
  type HashKey,
  parseHashKey,
  type Sealer,
} from '@plainpath/sealing'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import type { Mail } from '../src/mail.ts'
import { createMailQueue } from '../src/mail-queue.ts'
import { createSmtpTransport } from '../src/mail-transport.ts'
import { type Mailer, type MailerOptions, openMailer } from '../src/open-mailer.ts'
import { type MailServer, startMailServer } from './mail-server.ts'

export const MIGRATIONS = fileURLToPath(new URL('./migrations', import.meta.url))

export interface MailTestbed extends AsyncDisposable {
  readonly database: TestDatabase
  readonly db: Pool
  readonly server: MailServer
  readonly sealer: Sealer
  readonly hashKey: HashKey
  readonly logLines: string[]
  readonly registry: Registry
  /** The time for mailers. A test may change it. */
  clock: { now: Date }
  /** Adds a mail with the recipient ana@example.org, changed by `change`. Returns its id. */
  addMail(change?: Partial<Mail>, dueAt?: Date): Promise<string>
  /** Starts a mailer. Only the first one of a test writes its metrics to `registry`. */
  startMailer(change?: Partial<MailerOptions>): Mailer
  /** Reads the row of a mail. Returns an empty object if there is no such row. */
  readRow(id: string): Promise<Record<string, unknown>>
  /** Waits, at most 40 s, until the mail has this state. Returns its row. */
  waitForState(id: string, state: string): Promise<Record<string, unknown>>
  /** Waits, at most 10 s, until an attempt to send a mail has failed. Then makes the mail due without its pause. */
  retryNow(): Promise<void>
}

/** Polls often, so that tests are fast. */
const SHORT_INTERVALS = { pollMs: 50, restartMs: 50 }

/** Opens a mail queue in a new database, and starts an SMTP server. Mailers connect with the app's role. */
export async function openMailTestbed(folder = MIGRATIONS): Promise<MailTestbed> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder, name: 'mail' }))
  const db = opening.use(openPool(database.appUrl))
  const server = opening.use(await startMailServer())
  const sealer = createSealer(generateKeyEncryptionKey())
  const hashKey = parseHashKey(generateHashKey())
  // These bounds are low, so that a test reaches them with few mails.
  const queue = createMailQueue({ sealer, hashKey, waiting: { network: 4, all: 10 } })
  const registry = new Registry()
  const logLines: string[] = []
  const addLogLine = (message: string, fields?: object) =>
    void logLines.push(`${message} ${JSON.stringify(fields)}`)
  const clock = { now: new Date() }
  const resources = new AsyncDisposableStack()
  let mailerCount = 0
  const testbed: MailTestbed = {
    database,
    db,
    server,
    sealer,
    hashKey,
    logLines,
    registry,
    clock,
    addMail: (change, dueAt) =>
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
          testbed.clock.now,
          dueAt,
        ),
      ),
    startMailer(change) {
      const mailer = openMailer({
        databaseUrl: database.appUrl,
        db,
        sealer,
        hashKey,
        handlers: { note: {} },
        transport: createSmtpTransport(server.url),
        from: 'no-reply@plainpath.example',
        log: { warn: addLogLine, error: addLogLine },
        isClockSynchronised: () => true,
        metrics: { registry: mailerCount++ === 0 ? registry : new Registry(), recordSweep: () => undefined },
        now: () => testbed.clock.now,
        intervals: SHORT_INTERVALS,
        ...change,
      })
      return resources.use({ runUpkeep: mailer.runUpkeep, [Symbol.asyncDispose]: disposeOnce(mailer) })
    },
    async readRow(id) {
      const { rows } = await db.query('select * from mails where id = $1', [id])
      return rows[0] ?? {}
    },
    async waitForState(id, state) {
      const deadline = performance.now() + 40_000
      for (;;) {
        const row = await testbed.readRow(id)
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
  return testbed
}

/** Makes disposing idempotent: a test may dispose of a mailer, and the end of the test disposes of it again. */
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

import { listen } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type MailTestbed, openMailTestbed } from '../test/open-mail-testbed.ts'
import {
  buildInsertMailSql,
  buildMayStoreMailSql,
  createMailNotifier,
  createMailQueue,
  MAILS_CHANNEL,
} from './mail-queue.ts'

/** Stores a mail without notifying the mailers. Returns its id. */
async function storeMail(testbed: MailTestbed): Promise<string> {
  const mail = { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'Canary text.\n' }
  const { id, values } = createMailQueue(testbed).seal(mail, testbed.clock.now)
  const statement = `${buildInsertMailSql({ first: 1 })} where ${buildMayStoreMailSql({ first: 1 })}`
  await testbed.db.query(statement, values)
  return id
}

const storeMails = (testbed: MailTestbed, count: number) =>
  Promise.all(Array.from({ length: count }, () => storeMail(testbed)))

/** Counts the notifications to mailers from now on. `count` first waits for those that were already sent. */
async function startCountingNotifications({ database, db }: MailTestbed) {
  let count = 0
  let markerReceipt = Promise.withResolvers<void>()
  const listener = await listen(
    database.appUrl,
    { [MAILS_CHANNEL]: () => void (count += 1), marker: () => markerReceipt.resolve() },
    { onConnected: () => undefined, log: { error: () => undefined } },
  )
  return {
    async count() {
      // PostgreSQL delivers notifications in the order in which they were sent.
      markerReceipt = Promise.withResolvers<void>()
      await db.query('notify marker')
      await markerReceipt.promise
      return count
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  }
}

const silentLog = { warn: () => undefined }
const POLL_OPTIONS = { timeout: 10_000 }
const HIGH_CAPS = { mailbox: 100, requestedMailbox: 100, domain: 100, all: 100 }
/** With these intervals, a mailer sends a mail in time for a test only if it is notified. */
const RARE_POLLS = { pollMs: 60_000, restartMs: 50 }

test('sends one notification for 20 mails, all of which are then sent', async () => {
  await using testbed = await openMailTestbed()
  await using notifications = await startCountingNotifications(testbed)
  await using notifier = createMailNotifier({ db: testbed.db, log: silentLog })
  testbed.startMailer({ caps: HIGH_CAPS, intervals: RARE_POLLS })
  await testbed.waitForState(await testbed.addMail(), 'sent')
  expect(await notifications.count()).toBe(1)
  const ids = await storeMails(testbed, 20)
  for (const _id of ids) notifier.notifyMailers()
  await Promise.all(ids.map((id) => testbed.waitForState(id, 'sent')))
  expect(await notifications.count()).toBe(2)
  expect(testbed.server.received).toHaveLength(21)
})

test('sends another notification if the notifier is called while it sends one', async () => {
  await using testbed = await openMailTestbed()
  await using notifications = await startCountingNotifications(testbed)
  /** How often the notifier is still called: once at the start, and then during the first two notifications. */
  let remaining = 3
  const notifyAgain = () => {
    if (remaining-- > 0) notifier.notifyMailers()
  }
  await using notifier = createMailNotifier({
    db: {
      query: async (text, values) => {
        notifyAgain()
        return testbed.db.query(text, values)
      },
    },
    log: silentLog,
  })
  notifyAgain()
  await expect.poll(() => notifications.count(), POLL_OPTIONS).toBe(3)
})

test('sends the pending notification when the notifier is disposed of', async () => {
  await using testbed = await openMailTestbed()
  await using notifications = await startCountingNotifications(testbed)
  const notifier = createMailNotifier({ db: testbed.db, log: silentLog })
  notifier.notifyMailers()
  await notifier[Symbol.asyncDispose]()
  expect(await notifications.count()).toBe(1)
})

test('sends a mail at the next poll if the mailers were not notified', async () => {
  await using testbed = await openMailTestbed()
  const earlierId = await storeMail(testbed)
  testbed.startMailer()
  expect(await testbed.waitForState(earlierId, 'sent')).toMatchObject({ attempts: 1 })
  const laterId = await storeMail(testbed)
  expect(await testbed.waitForState(laterId, 'sent')).toMatchObject({ attempts: 1 })
})

test('logs a failed notification and can notify later; meanwhile, mails are sent at the next poll', async () => {
  await using testbed = await openMailTestbed()
  await using notifications = await startCountingNotifications(testbed)
  let isUnavailable = true
  const query: MailTestbed['db']['query'] = async (...statement) => {
    if (isUnavailable) throw Object.assign(new Error('the database is unavailable'), { code: 'ECONNREFUSED' })
    return testbed.db.query(...statement)
  }
  const warnings: unknown[] = []
  const warn = (message: string, fields?: object) => void warnings.push([message, fields])
  await using notifier = createMailNotifier({ db: { query }, log: { warn } })
  const ids = await storeMails(testbed, 3)
  for (const _id of ids) notifier.notifyMailers()
  await expect
    .poll(() => warnings, POLL_OPTIONS)
    .toEqual([
      [
        'the mailers could not be notified, and will find new mails when they poll',
        { error: expect.any(Error) },
      ],
    ])
  expect(await notifications.count()).toBe(0)
  testbed.startMailer()
  await Promise.all(ids.map((id) => testbed.waitForState(id, 'sent')))
  isUnavailable = false
  notifier.notifyMailers()
  await expect.poll(() => notifications.count(), POLL_OPTIONS).toBe(1)
})

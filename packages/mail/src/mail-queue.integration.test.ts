import { listen } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type Mailing, startMailing } from '../test/start-mailing.ts'
import {
  buildInsertMail,
  buildWaitingCondition,
  createMailNotifier,
  createMailQueue,
  MAILS_CHANNEL,
} from './mail-queue.ts'

/** Stores a mail without notifying the mailers. Returns its id. */
async function storeMail(mailing: Mailing): Promise<string> {
  const mail = { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'Canary text.\n' }
  const { id, values } = createMailQueue(mailing).seal(mail, mailing.clock.now)
  const statement = `${buildInsertMail({ first: 1 })} where ${buildWaitingCondition({ first: 1 })}`
  await mailing.db.query(statement, values)
  return id
}

const storeMails = (mailing: Mailing, count: number) =>
  Promise.all(Array.from({ length: count }, () => storeMail(mailing)))

/** Starts counting the notifications. `count` first waits for the notifications that were already sent. */
async function startCounting({ database, db }: Mailing) {
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
const HIGH_CAPS = { mailbox: 100, domain: 100, all: 100 }
/** With these intervals, a mailer sends a mail in time for a test only if it is notified. */
const RARE_POLLS = { pollMs: 60_000, restartMs: 50 }

test('sends one notification for 20 mails, all of which are then sent', async () => {
  await using mailing = await startMailing()
  await using notifications = await startCounting(mailing)
  await using notifier = createMailNotifier({ db: mailing.db, log: silentLog })
  mailing.startMailer({ caps: HIGH_CAPS, intervals: RARE_POLLS })
  await mailing.waitForState(await mailing.addMail(), 'sent')
  expect(await notifications.count()).toBe(1)
  const ids = await storeMails(mailing, 20)
  for (const _id of ids) notifier.notifyMailers()
  await Promise.all(ids.map((id) => mailing.waitForState(id, 'sent')))
  expect(await notifications.count()).toBe(2)
  expect(mailing.server.received).toHaveLength(21)
})

test('sends another notification if the notifier is called while it sends one', async () => {
  await using mailing = await startMailing()
  await using notifications = await startCounting(mailing)
  let remaining = 3
  const notifyAgain = () => {
    if (remaining-- > 0) notifier.notifyMailers()
  }
  await using notifier = createMailNotifier({
    db: {
      query: async (text, values) => {
        notifyAgain()
        return mailing.db.query(text, values)
      },
    },
    log: silentLog,
  })
  notifyAgain()
  await expect.poll(() => notifications.count(), POLL_OPTIONS).toBe(3)
})

test('sends the pending notification when the notifier is disposed of', async () => {
  await using mailing = await startMailing()
  await using notifications = await startCounting(mailing)
  const notifier = createMailNotifier({ db: mailing.db, log: silentLog })
  notifier.notifyMailers()
  await notifier[Symbol.asyncDispose]()
  expect(await notifications.count()).toBe(1)
})

test('sends a mail at the next poll if the mailers were not notified', async () => {
  await using mailing = await startMailing()
  const earlierId = await storeMail(mailing)
  mailing.startMailer()
  expect(await mailing.waitForState(earlierId, 'sent')).toMatchObject({ attempts: 1 })
  const laterId = await storeMail(mailing)
  expect(await mailing.waitForState(laterId, 'sent')).toMatchObject({ attempts: 1 })
})

test('logs a failed notification and can notify later; meanwhile, mails are sent at the next poll', async () => {
  await using mailing = await startMailing()
  await using notifications = await startCounting(mailing)
  let isUnavailable = true
  const query: Mailing['db']['query'] = async (...statement) => {
    if (isUnavailable) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    return mailing.db.query(...statement)
  }
  const warnings: unknown[] = []
  const warn = (message: string, fields?: object) => void warnings.push([message, fields])
  await using notifier = createMailNotifier({ db: { query }, log: { warn } })
  const ids = await storeMails(mailing, 3)
  for (const _id of ids) notifier.notifyMailers()
  await expect
    .poll(() => warnings, POLL_OPTIONS)
    .toEqual([
      [
        'the mail workers could not be notified, and will find new mails when they poll',
        { error: expect.any(Error) },
      ],
    ])
  expect(await notifications.count()).toBe(0)
  mailing.startMailer()
  await Promise.all(ids.map((id) => mailing.waitForState(id, 'sent')))
  isUnavailable = false
  notifier.notifyMailers()
  await expect.poll(() => notifications.count(), POLL_OPTIONS).toBe(1)
})

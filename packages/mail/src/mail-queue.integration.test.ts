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

/** Commits a mail without notifying a mailer. */
async function storeMail(mailing: Mailing): Promise<string> {
  const mail = { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'Canary text.\n' }
  const { id, values } = createMailQueue(mailing).seal(mail, mailing.clock.now)
  const statement = `${buildInsertMail({ first: 1 })} where ${buildWaitingCondition({ first: 1 })}`
  await mailing.db.query(statement, values)
  return id
}

const storeMails = (mailing: Mailing, count: number) =>
  Promise.all(Array.from({ length: count }, () => storeMail(mailing)))

/** Counts how often mailers are notified. */
async function countNotifications({ database, db }: Mailing) {
  let count = 0
  let received = Promise.withResolvers<void>()
  const listener = await listen(
    database.appUrl,
    { [MAILS_CHANNEL]: () => void (count += 1), all: () => received.resolve() },
    { onReconnected: () => undefined, log: { error: () => undefined } },
  )
  return {
    async count() {
      received = Promise.withResolvers<void>()
      await db.query('notify "all"')
      await received.promise
      return count
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  }
}

const quiet = { warn: () => undefined }
const IN_TIME = { timeout: 10_000 }
const HIGH_CAPS = { mailbox: 100, domain: 100, all: 100 }
/** A mailer that polls once a minute sends a mail in time for a test only when it is notified. */
const RARE_POLLS = { pollMs: 60_000, restartMs: 50 }

test('sends one notification for mails that are stored at the same time, and sends all of them', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  await using teller = createMailNotifier({ db: mailing.db, log: quiet })
  mailing.start({ caps: HIGH_CAPS, intervals: RARE_POLLS })
  await mailing.becomes(await mailing.add(), 'sent')
  expect(await notifications.count()).toBe(1)
  const ids = await storeMails(mailing, 20)
  for (const _id of ids) teller.notifyMailers()
  await Promise.all(ids.map((id) => mailing.becomes(id, 'sent')))
  expect(await notifications.count()).toBe(2)
  expect(mailing.server.received).toHaveLength(21)
})

test('sends another notification for a mail that is stored while one is being sent', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  let remaining = 3
  const tellNext = () => {
    if (remaining-- > 0) teller.notifyMailers()
  }
  await using teller = createMailNotifier({
    db: {
      query: async (text, values) => {
        tellNext()
        return mailing.db.query(text, values)
      },
    },
    log: quiet,
  })
  tellNext()
  await expect.poll(() => notifications.count(), IN_TIME).toBe(3)
})

test('sends the pending notification when it is disposed', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  const teller = createMailNotifier({ db: mailing.db, log: quiet })
  teller.notifyMailers()
  await teller[Symbol.asyncDispose]()
  expect(await notifications.count()).toBe(1)
})

test('sends a mail at the next poll when its process was killed before it notified a mailer', async () => {
  await using mailing = await startMailing()
  const before = await storeMail(mailing)
  mailing.start()
  expect(await mailing.becomes(before, 'sent')).toMatchObject({ attempts: 1 })
  const since = await storeMail(mailing)
  expect(await mailing.becomes(since, 'sent')).toMatchObject({ attempts: 1 })
})

test('logs a notification that fails, sends its mails at the next poll, and notifies again once the database is back', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  let isUnavailable = true
  const query: Mailing['db']['query'] = async (...statement) => {
    if (isUnavailable) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    return mailing.db.query(...statement)
  }
  const warned: unknown[] = []
  const warn = (message: string, fields?: object) => void warned.push([message, fields])
  await using teller = createMailNotifier({ db: { query }, log: { warn } })
  const ids = await storeMails(mailing, 3)
  for (const _id of ids) teller.notifyMailers()
  await expect
    .poll(() => warned, IN_TIME)
    .toEqual([
      [
        'the mail workers could not be notified, and will find new mails when they poll',
        { error: expect.any(Error) },
      ],
    ])
  expect(await notifications.count()).toBe(0)
  mailing.start()
  await Promise.all(ids.map((id) => mailing.becomes(id, 'sent')))
  isUnavailable = false
  teller.notifyMailers()
  await expect.poll(() => notifications.count(), IN_TIME).toBe(1)
})

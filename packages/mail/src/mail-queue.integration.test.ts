import { listen } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type Mailing, startMailing } from '../test/start-mailing.ts'
import { insertMail, MAILS_CHANNEL, mailQueue, mayWait, tellMails } from './mail-queue.ts'

/** Committed, and no mailer is notified. */
async function keepMail(mailing: Mailing): Promise<string> {
  const mail = { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'Canary text.\n' }
  const { id, values } = mailQueue(mailing).seal(mail, mailing.clock.now)
  const statement = `${insertMail({ first: 1 })} where ${mayWait({ first: 1 })}`
  await mailing.db.query(statement, values)
  return id
}

const keepMails = (mailing: Mailing, count: number) =>
  Promise.all(Array.from({ length: count }, () => keepMail(mailing)))

/** How often mailers were notified. */
async function countNotifications({ database, db }: Mailing) {
  let count = 0
  let heard = Promise.withResolvers<void>()
  const listener = await listen(
    database.appUrl,
    { [MAILS_CHANNEL]: () => void (count += 1), all: () => heard.resolve() },
    { onReconnected: () => undefined, log: { error: () => undefined } },
  )
  return {
    async count() {
      heard = Promise.withResolvers<void>()
      await db.query('notify "all"')
      await heard.promise
      return count
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  }
}

const quiet = { warn: () => undefined }
const IN_TIME = { timeout: 10_000 }
const WIDE = { mailbox: 100, domain: 100, all: 100 }
/** Without notifications every mail of a test would be too late. */
const HARDLY_POLLING = { pollMs: 60_000, restartMs: 50 }

test('mails that are told together wake the workers once, and all go out', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  await using teller = tellMails({ db: mailing.db, log: quiet })
  mailing.start({ caps: WIDE, intervals: HARDLY_POLLING })
  await mailing.becomes(await mailing.add(), 'sent')
  expect(await notifications.count()).toBe(1)
  const ids = await keepMails(mailing, 20)
  for (const _id of ids) teller.tell()
  await Promise.all(ids.map((id) => mailing.becomes(id, 'sent')))
  expect(await notifications.count()).toBe(2)
  expect(mailing.server.received).toHaveLength(21)
})

test('what is told while others are told is told, too', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  let rest = 3
  const tellNext = () => {
    if (rest-- > 0) teller.tell()
  }
  await using teller = tellMails({
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

test('stopping tells what waits', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  const teller = tellMails({ db: mailing.db, log: quiet })
  teller.tell()
  await teller[Symbol.asyncDispose]()
  expect(await notifications.count()).toBe(1)
})

test('a mail that was told to nobody, since its process was killed, goes out with the next poll', async () => {
  await using mailing = await startMailing()
  const before = await keepMail(mailing)
  mailing.start()
  expect(await mailing.becomes(before, 'sent')).toMatchObject({ attempts: 1 })
  const since = await keepMail(mailing)
  expect(await mailing.becomes(since, 'sent')).toMatchObject({ attempts: 1 })
})

test('a store that is away fails nobody, its mails go out, and the next ones are told when it is back', async () => {
  await using mailing = await startMailing()
  await using notifications = await countNotifications(mailing)
  let isAway = true
  const query: Mailing['db']['query'] = async (...asked) => {
    if (isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    return mailing.db.query(...asked)
  }
  const warned: unknown[] = []
  const warn = (message: string, fields?: object) => void warned.push([message, fields])
  await using teller = tellMails({ db: { query }, log: { warn } })
  const ids = await keepMails(mailing, 3)
  for (const _id of ids) teller.tell()
  await expect
    .poll(() => warned, IN_TIME)
    .toEqual([['mails were not told to the workers, and are found later', { error: expect.any(Error) }]])
  expect(await notifications.count()).toBe(0)
  mailing.start()
  await Promise.all(ids.map((id) => mailing.becomes(id, 'sent')))
  isAway = false
  teller.tell()
  await expect.poll(() => notifications.count(), IN_TIME).toBe(1)
})

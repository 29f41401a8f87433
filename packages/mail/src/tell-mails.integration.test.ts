import { randomUUID } from 'node:crypto'
import { listen } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type Mailing, startMailing } from '../test/start-mailing.ts'
import { mailQueue } from './mail-queue.ts'
import { insertMail } from './sealed-mail.ts'
import { tellMails } from './tell-mails.ts'

/** Committed, and not told to anybody. */
async function keepMail({ db, sealingKeys, clock }: Mailing): Promise<string> {
  const mail = { kind: 'note', about: 'x', to: 'ana@example.org', subject: 'A note', text: 'Canary text.\n' }
  const { id, values } = mailQueue(sealingKeys).seal(mail, clock.now)
  await db.query(insertMail({ first: 1 }), values)
  return id
}

const keepMails = (mailing: Mailing, count: number) =>
  Promise.all(Array.from({ length: count }, () => keepMail(mailing)))

const jobsOf = async ({ db }: Mailing) =>
  (await db.query<{ key: string }>('select key from graphile_worker.jobs order by key')).rows.map(
    ({ key }) => key,
  )

const quiet = { warn: () => undefined }
const IN_TIME = { timeout: 10_000 }

test('mails that are told together wake the workers once, and all go out', async () => {
  await using mailing = await startMailing()
  const notices: string[] = []
  await using _hearing = await listen(
    mailing.database.appUrl,
    { 'jobs:insert': (payload) => void notices.push(payload), done: () => void notices.push('done') },
    { onReconnected: () => undefined, log: { error: () => undefined } },
  )
  await using teller = tellMails({ db: mailing.db, log: quiet })
  const ids = await keepMails(mailing, 20)
  for (const id of ids) teller.tell(id)
  await expect.poll(() => jobsOf(mailing), IN_TIME).toHaveLength(20)
  await mailing.db.query('notify done')
  await expect.poll(() => notices.at(-1), IN_TIME).toBe('done')
  expect(notices).toHaveLength(2)

  mailing.start({ caps: { mailbox: 100, domain: 100, all: 100 } })
  await Promise.all(ids.map((id) => mailing.becomes(id, 'sent')))
  expect(mailing.server.received).toHaveLength(20)
})

test('what is told while others are told is told, too', async () => {
  await using mailing = await startMailing()
  const ids = Array.from({ length: 3 }, () => randomUUID())
  const rest = ids.values()
  await using teller = tellMails({
    db: {
      query: async (text, values) => {
        tellNext()
        return mailing.db.query(text, values)
      },
    },
    log: quiet,
  })
  const tellNext = () => {
    const { value } = rest.next()
    if (value) teller.tell(value)
  }
  tellNext()
  await expect.poll(() => jobsOf(mailing), IN_TIME).toEqual(ids.map((id) => `mail:${id}`).sort())
})

test('stopping tells what waits', async () => {
  await using mailing = await startMailing()
  const ids = await keepMails(mailing, 3)
  const teller = tellMails({ db: mailing.db, log: quiet })
  for (const id of ids) teller.tell(id)
  await teller[Symbol.asyncDispose]()
  expect(await jobsOf(mailing)).toEqual(ids.map((id) => `mail:${id}`).sort())
})

test('a mail that was told to nobody, since its process was killed, goes out within 90 s', async () => {
  await using mailing = await startMailing()
  const id = await keepMail(mailing)
  const mailer = mailing.start()
  await mailer.upkeep()
  expect(await jobsOf(mailing)).toEqual([])
  // The upkeep is every 10 s.
  mailing.clock.now = new Date(mailing.clock.now.getTime() + 80_000)
  await mailer.upkeep()
  await mailing.becomes(id, 'sent')
})

/** A store that is away until it is put right. */
function storeThatIsAway({ db }: Mailing) {
  const state = { away: true, asked: 0 }
  const query: Mailing['db']['query'] = async (...asked) => {
    state.asked += 1
    if (state.away) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    return db.query(...asked)
  }
  return { state, db: { query } }
}

test('a store that is away fails nobody, is asked again, and all mails are told', async () => {
  await using mailing = await startMailing()
  const store = storeThatIsAway(mailing)
  const warned: unknown[] = []
  await using teller = tellMails({
    db: store.db,
    log: { warn: (...said) => void warned.push(said) },
    againMs: 20,
  })
  const ids = await keepMails(mailing, 3)
  const [last = ''] = ids.splice(2)
  for (const id of ids) teller.tell(id)
  await expect.poll(() => store.state.asked, IN_TIME).toBeGreaterThan(2)
  teller.tell(last)
  store.state.away = false
  await expect.poll(() => jobsOf(mailing), IN_TIME).toEqual([...ids, last].map((id) => `mail:${id}`).sort())
  expect(warned).toEqual([])
})

test('a store that stays away is asked thirty times, and the next mails are told when it is back', async () => {
  await using mailing = await startMailing()
  const store = storeThatIsAway(mailing)
  const warned: unknown[] = []
  const warn = (message: string, fields?: object) => void warned.push([message, fields])
  await using teller = tellMails({ db: store.db, log: { warn }, againMs: 1 })
  for (const id of await keepMails(mailing, 2)) teller.tell(id)
  await expect
    .poll(() => warned, IN_TIME)
    .toEqual([
      ['mails were not told to the workers, and are found later', { mails: 2, error: expect.any(Error) }],
    ])
  expect(store.state.asked).toBe(30)
  store.state.away = false
  const id = await keepMail(mailing)
  teller.tell(id)
  await expect.poll(() => jobsOf(mailing), IN_TIME).toEqual([`mail:${id}`])
})

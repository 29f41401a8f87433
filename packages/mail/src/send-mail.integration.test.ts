import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'

test('settles a sent mail once the database is available again, and does not send it twice', async () => {
  await using mailing = await startMailing()
  let failureCount = 0
  const query: typeof mailing.db.query = (text, ...rest) => {
    const isSettling = text.startsWith('update mails set state')
    if (!isSettling || failureCount === 3) return mailing.db.query(text, ...rest)
    failureCount += 1
    return Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
  }
  const id = await mailing.addMail()
  const mailer = mailing.startMailer({ db: { ...mailing.db, query } })
  await mailing.waitForState(id, 'sent')
  expect(failureCount).toBe(3)
  // A second after the lease of 80 s has ended: a mail that is still queued would be sent again.
  mailing.clock.now = new Date(mailing.clock.now.getTime() + 81_000)
  await mailer.runUpkeep()
  expect(await mailing.readRow(id)).toMatchObject({ state: 'sent', attempts: 1 })
  expect(mailing.server.received).toHaveLength(1)
})

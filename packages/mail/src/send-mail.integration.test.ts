import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'

test('settles a sent mail once the database is available again, and does not send it twice', async () => {
  await using mailing = await startMailing()
  let failureCount = 0
  const transaction: typeof mailing.db.transaction = (work) => {
    if (mailing.server.received.length === 0 || failureCount === 3) return mailing.db.transaction(work)
    failureCount += 1
    return Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
  }
  const id = await mailing.add()
  const mailer = mailing.start({ db: { ...mailing.db, transaction } })
  await mailing.becomes(id, 'sent')
  expect(failureCount).toBe(3)
  mailing.clock.now = new Date(mailing.clock.now.getTime() + 81_000)
  await mailer.upkeep()
  expect(await mailing.state(id)).toMatchObject({ state: 'sent', attempts: 1 })
  expect(mailing.server.received).toHaveLength(1)
})

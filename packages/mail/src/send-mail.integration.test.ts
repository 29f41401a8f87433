import { expect, test } from 'vitest'
import { openMailTestbed } from '../test/open-mail-testbed.ts'

test('settles a sent mail once the database is available again, and does not send it twice', async () => {
  await using testbed = await openMailTestbed()
  let failureCount = 0
  const query: typeof testbed.db.query = (text, ...rest) => {
    // Only the statement of `settleMail` begins like this. It fails three times.
    const isSettling = text.startsWith('update mails set state')
    if (!isSettling || failureCount === 3) return testbed.db.query(text, ...rest)
    failureCount += 1
    return Promise.reject(Object.assign(new Error('the database is unavailable'), { code: 'ECONNREFUSED' }))
  }
  const id = await testbed.addMail()
  const mailer = testbed.startMailer({ db: { ...testbed.db, query } })
  await testbed.waitForState(id, 'sent')
  expect(failureCount).toBe(3)
  // A second after the lease of 80 s has ended: a mail that is still queued would be sent again.
  testbed.clock.now = new Date(testbed.clock.now.getTime() + 81_000)
  await mailer.runUpkeep()
  expect(await testbed.readRow(id)).toMatchObject({ state: 'sent', attempts: 1 })
  expect(testbed.server.received).toHaveLength(1)
})

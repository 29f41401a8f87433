import { openPool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { openMailTestbed } from '../test/open-mail-testbed.ts'
import { scaleMailCaps } from './mail-caps.ts'
import { MAILER_INTERVALS } from './open-mailer.ts'

/** The intervals and the clock of production. In other tests, intervals are short, and tests set the clock. */
const PRODUCTION = { intervals: MAILER_INTERVALS, now: () => new Date() }

test('sends a mail at the second attempt after the server refused it temporarily', async () => {
  await using testbed = await openMailTestbed()
  testbed.server.refuseNext({ at: 'data', code: 451 })
  testbed.startMailer(PRODUCTION)
  const id = await testbed.addMail()
  await testbed.waitForState(id, 'sent')
  expect((await testbed.readRow(id))['attempts']).toBe(2)
  expect(testbed.server.received).toHaveLength(1)
})

test('sends a mail that is added after the database has disconnected every client', async () => {
  await using testbed = await openMailTestbed()
  const { name, adminUrl } = testbed.database
  // Connected to another database, because the test forbids connections to its own.
  await using admin = openPool(adminUrl.replace(/\/[^/]*$/, '/postgres'), { max: 1 })
  testbed.startMailer(PRODUCTION)
  await testbed.waitForState(await testbed.addMail(), 'sent')
  await admin.query(`alter database "${name}" allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await admin.query(`alter database "${name}" allow_connections true`)
  let id = ''
  // The connections of the test's pool were also terminated, so its first statements fail.
  const tryToAdd = async () => (id = await testbed.addMail().catch(() => ''))
  await expect.poll(tryToAdd).not.toBe('')
  expect(await testbed.waitForState(id, 'sent')).toMatchObject({ attempts: 1 })
})

test('sends a mail that waited under a cap after there is room', async () => {
  await using testbed = await openMailTestbed()
  testbed.startMailer({ ...PRODUCTION, caps: { ...scaleMailCaps(1), domain: 1 } })
  await testbed.waitForState(await testbed.addMail(), 'sent')
  const id = await testbed.addMail()
  const readWaitingMails = async () =>
    (await testbed.db.query('select id from mails where deferred_by is not null')).rows
  await expect.poll(readWaitingMails).toEqual([{ id }])
  await testbed.db.query('update mails set counted_at = null')
  await testbed.waitForState(id, 'sent')
})

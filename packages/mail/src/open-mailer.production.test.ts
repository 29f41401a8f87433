import { openPool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'
import { MAILER_INTERVALS } from './open-mailer.ts'

const PRODUCTION = { intervals: MAILER_INTERVALS, now: () => new Date() }

test('sends a mail at the second attempt after the server refused it temporarily', async () => {
  await using mailing = await startMailing()
  mailing.server.refuseNext({ at: 'data', code: 451 })
  mailing.startMailer(PRODUCTION)
  const id = await mailing.addMail()
  await mailing.waitForState(id, 'sent')
  expect((await mailing.readRow(id))['attempts']).toBe(2)
  expect(mailing.server.received).toHaveLength(1)
})

test('sends a mail that is added after the database has disconnected every client', async () => {
  await using mailing = await startMailing()
  const { name, adminUrl } = mailing.database
  await using admin = openPool(adminUrl.replace(/\/[^/]*$/, '/postgres'), { max: 1 })
  mailing.startMailer(PRODUCTION)
  await mailing.waitForState(await mailing.addMail(), 'sent')
  await admin.query(`alter database "${name}" allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await admin.query(`alter database "${name}" allow_connections true`)
  let id = ''
  // The connections of the test's pool were also terminated, so its first statements fail.
  const tryToAdd = async () => (id = await mailing.addMail().catch(() => ''))
  await expect.poll(tryToAdd).not.toBe('')
  expect(await mailing.waitForState(id, 'sent')).toMatchObject({ attempts: 1 })
})

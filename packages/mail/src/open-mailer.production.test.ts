import { openPool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'
import { MAILER_INTERVALS } from './open-mailer.ts'

const PRODUCTION = { intervals: MAILER_INTERVALS, now: () => new Date() }

test('tries a mail again after the server refused it temporarily', async () => {
  await using mailing = await startMailing()
  mailing.server.refuseNext({ at: 'data', code: 451 })
  mailing.start(PRODUCTION)
  const id = await mailing.add()
  await mailing.becomes(id, 'sent')
  expect((await mailing.state(id))['attempts']).toBe(2)
  expect(mailing.server.received).toHaveLength(1)
})

test('sends mails again after a short failure of the database', async () => {
  await using mailing = await startMailing()
  const { name, adminUrl } = mailing.database
  await using admin = openPool(adminUrl.replace(/\/[^/]*$/, '/postgres'), { max: 1 })
  mailing.start(PRODUCTION)
  await mailing.becomes(await mailing.add(), 'sent')
  await admin.query(`alter database "${name}" allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await admin.query(`alter database "${name}" allow_connections true`)
  let id = ''
  // The connections of the test's own pool were terminated, too, so its first statements fail.
  const add = async () => (id = await mailing.add().catch(() => ''))
  await expect.poll(add).not.toBe('')
  expect(await mailing.becomes(id, 'sent')).toMatchObject({ attempts: 1 })
})

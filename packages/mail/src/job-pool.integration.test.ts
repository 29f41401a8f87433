import { openTestDatabase } from '@plainpath/postgres/testing'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../test/start-mailing.ts'
import { jobPool } from './job-pool.ts'

const NOTHING = { rows: [], rowCount: 0 }
const broken = (name: string) => ({ name, text: 'select broken' })
const SETTLING = [
  'complete_job/x',
  'complete_job_q/x',
  'complete_jobs/x',
  'fail_job/x',
  'fail_job_q/x',
  'fail_jobs/x',
]

test('what settles a job never fails, and everything else does', async () => {
  await using database = await openTestDatabase({ folder: MIGRATIONS, name: 'mail' })
  const pool = jobPool(database.appUrl)
  const client = await pool.connect()
  for (const name of SETTLING) expect(await client.query(broken(name))).toMatchObject(NOTHING)
  await expect(client.query(broken('get_job/x'))).rejects.toThrow('broken')
  await expect(client.query('select broken')).rejects.toThrow('broken')
  client.release()
  await pool.end()
  const late = await pool.connect()
  expect(await late.query(broken('complete_job/x'))).toMatchObject(NOTHING)
  await expect(late.query('select 1')).rejects.toThrow('after calling end')
})

import pg from 'pg'
import { withAdmin } from './with-admin.ts'

const COPIES = 'backup'

/**
 * Remembers what every table of a database holds, as a backup does.
 *
 * @param adminUrl of an administrator of the server
 * @returns brings it back, as a restore does
 */
export async function backUp(adminUrl: string): Promise<() => Promise<void>> {
  const tables = await withAdmin(adminUrl, async (admin) => {
    const { rows } = await admin.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    )
    const names = rows.map(({ name }) => pg.escapeIdentifier(name))
    await admin.query(`create schema ${COPIES}`)
    for (const name of names) await admin.query(`create table ${COPIES}.${name} as table public.${name}`)
    return names
  })
  return () =>
    withAdmin(adminUrl, async (admin) => {
      await admin.query('begin')
      // Neither references nor what guards an audit stand in the way, nor do they of pg_restore.
      await admin.query(`set local session_replication_role = replica`)
      for (const name of tables) await admin.query(`delete from public.${name}`)
      for (const name of tables)
        await admin.query(`insert into public.${name} overriding system value table ${COPIES}.${name}`)
      await admin.query('commit')
    })
}

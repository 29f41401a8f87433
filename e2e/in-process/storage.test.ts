import path from 'node:path'
import { MIGRATIONS as AUTH } from '@plainpath/auth/stores'
import { openPool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { MIGRATIONS as RESOURCE } from '@plainpath/resource/migrations'
import { expect, test } from 'vitest'
import { openRepository } from '../../scripts/repository.ts'
import { readTables } from '../../scripts/storage-page.ts'

const repository = openRepository(path.resolve(import.meta.dirname, '../..'))

test.for([
  ['auth', AUTH],
  ['resource', RESOURCE],
] as const)('docs/storage.md lists exactly the tables and columns of %s', async ([app, folder]) => {
  await using database = await openTestDatabase({ folder, name: `storage_${app}` })
  await using db = openPool(database.ownerUrl, { max: 1 })
  const { rows } = await db.query<{ definition: string }>(
    `select table_name || '.' || column_name || ' ' ||
       case data_type when 'timestamp with time zone' then 'timestamptz' when 'ARRAY' then ltrim(udt_name, '_') || '[]'
         else data_type end as definition
     from information_schema.columns where table_schema = 'public' and table_name <> 'schema_migrations' order by 1`,
  )
  const documented = readTables(repository, app).flatMap(({ name, columns }) =>
    columns.map((column) => `${name}.${column.name} ${column.type}`),
  )
  expect(documented.toSorted()).toEqual(rows.map(({ definition }) => definition).toSorted())
})

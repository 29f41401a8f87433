import path from 'node:path'
import { expect, it } from 'vitest'
import { openRepository } from './repository.ts'
import { ROW_RETENTION, readTables, renderStoragePage } from './storage-page.ts'

/**
 * Contains forms that the parser must handle: a continued column, a constraint, a doubled quote, and a column that is added
 * later.
 */
const GUESTS_MIGRATION = `-- The guests.
create table guests (
  id   uuid primary key,
  -- The names of a guest.
  name text[] not null
    check (name <> ''),
  constraint guests_name unique (name)
);

comment on column guests.id is 'the guest''s identifier';
alter table guests add column left_at timestamptz;
`

const createFakeRepository = (files: Record<string, string>) => ({
  files: Object.keys(files).sort(),
  read: (file: string) => files[file] ?? '',
})

it('reads tables and columns with their comments, and applies later migrations', () => {
  const guests = {
    name: 'guests',
    description: 'The guests.',
    columns: [
      { name: 'id', type: 'uuid', description: "the guest's identifier" },
      { name: 'name', type: 'text[]', description: 'The names of a guest.' },
      { name: 'left_at', type: 'timestamptz', description: '' },
    ],
  }
  const migrations = { 'apps/auth/migrations/0001-guests.sql': GUESTS_MIGRATION }
  expect(readTables(createFakeRepository(migrations), 'auth')).toEqual([guests])
  const withoutColumn = {
    ...migrations,
    'apps/auth/migrations/0002-drop-column.sql': 'alter table guests drop column name;\n',
  }
  expect(readTables(createFakeRepository(withoutColumn), 'auth')[0]?.columns.map(({ name }) => name)).toEqual(
    ['id', 'left_at'],
  )
  const withoutTable = { ...migrations, 'apps/auth/migrations/0002-drop-table.sql': 'drop table guests;\n' }
  expect(readTables(createFakeRepository(withoutTable), 'auth')).toEqual([])
})

const repository = openRepository(path.resolve(import.meta.dirname, '..'))

it.each(['auth', 'resource'] as const)(
  'ROW_RETENTION names exactly the tables of %s, in alphabetical order',
  (app) => {
    const tableNames = readTables(repository, app).map(({ name }) => name)
    expect(Object.keys(ROW_RETENTION[app])).toEqual(tableNames)
  },
)

it('docs/storage.md is what "npm run generate" writes', () => {
  expect(repository.read('docs/storage.md')).toBe(renderStoragePage(repository))
})

import path from 'node:path'
import { expect, it } from 'vitest'
import { openRepository } from './repository.ts'
import { RETENTION, readTables, storagePage } from './storage-page.ts'

const SQL = `-- Who is here.
create table guests (
  id   uuid primary key,
  -- As they said it.
  name text[] not null
    check (name <> ''),
  constraint guests_name unique (name)
);

comment on column guests.id is 'the guest''s own';
alter table guests add column left_at timestamptz;
`

const createRepository = (files: Record<string, string>) => ({
  files: Object.keys(files).sort(),
  read: (file: string) => files[file] ?? '',
})

it('reads tables and columns with their comments, and the changes of later migrations', () => {
  const guests = {
    name: 'guests',
    what: 'Who is here.',
    columns: [
      { name: 'id', type: 'uuid', what: "the guest's own" },
      { name: 'name', type: 'text[]', what: 'As they said it.' },
      { name: 'left_at', type: 'timestamptz', what: '' },
    ],
  }
  const first = { 'apps/auth/migrations/0001-guests.sql': SQL }
  expect(readTables(createRepository(first), 'auth')).toEqual([guests])
  const less = { ...first, 'apps/auth/migrations/0002-less.sql': 'alter table guests drop column name;\n' }
  expect(readTables(createRepository(less), 'auth')[0]?.columns.map(({ name }) => name)).toEqual([
    'id',
    'left_at',
  ])
  const none = { ...first, 'apps/auth/migrations/0002-none.sql': 'drop table guests;\n' }
  expect(readTables(createRepository(none), 'auth')).toEqual([])
})

const repository = openRepository(path.resolve(import.meta.dirname, '..'))

it.each(['auth', 'resource'] as const)('has a line for each table of %s, and for nothing else', (app) => {
  const tables = readTables(repository, app).map(({ name }) => name)
  expect(Object.keys(RETENTION[app])).toEqual(tables)
})

it('is docs/storage.md, as "npm run generate" writes it', () => {
  expect(repository.read('docs/storage.md')).toBe(storagePage(repository))
})

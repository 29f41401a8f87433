import path from 'node:path'
import { expect, it } from 'vitest'
import { openRepository } from './repository.ts'
import { ROW_RETENTION, readTables, renderStoragePage } from './storage-page.ts'

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

it('reads tables and columns with their comments, and applies later migrations', () => {
  const guests = {
    name: 'guests',
    description: 'Who is here.',
    columns: [
      { name: 'id', type: 'uuid', description: "the guest's own" },
      { name: 'name', type: 'text[]', description: 'As they said it.' },
      { name: 'left_at', type: 'timestamptz', description: '' },
    ],
  }
  const base = { 'apps/auth/migrations/0001-guests.sql': SQL }
  expect(readTables(createRepository(base), 'auth')).toEqual([guests])
  const withoutColumn = {
    ...base,
    'apps/auth/migrations/0002-less.sql': 'alter table guests drop column name;\n',
  }
  expect(readTables(createRepository(withoutColumn), 'auth')[0]?.columns.map(({ name }) => name)).toEqual([
    'id',
    'left_at',
  ])
  const withoutTable = { ...base, 'apps/auth/migrations/0002-none.sql': 'drop table guests;\n' }
  expect(readTables(createRepository(withoutTable), 'auth')).toEqual([])
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

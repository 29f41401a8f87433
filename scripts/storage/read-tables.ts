import type { Repository } from '../repository.ts'

export interface StoredColumn {
  readonly name: string
  readonly type: string
  readonly what: string
}

export interface StoredTable {
  readonly name: string
  readonly what: string
  readonly columns: readonly StoredColumn[]
}

const TABLE = /^create table (\w+) \($/
const COLUMN = /^ {2}(?!check\b|constraint\b|primary key\b|unique\b|foreign key\b)(\w+) +(\w+(?:\[\])?)/
const ADDED = /^alter table (\w+) add column (\w+) (\w+(?:\[\])?)/
const REMOVED = /^(?:alter table (\w+) )?drop (?:column|table) (\w+)/
const COMMENT = /^comment on (?:table (\w+)|column (\w+)\.(\w+)) is '((?:[^']|'')*)';$/

interface Draft {
  what: string
  readonly columns: Map<string, { type: string; what: string }>
}

/** The tables that the migrations of an app leave behind, with what their comments say. Sorted by name. */
export function readTables(repository: Repository, app: string): StoredTable[] {
  const tables = new Map<string, Draft>()
  for (const file of repository.files.filter((each) => each.startsWith(`apps/${app}/migrations/`)))
    readMigration(repository.read(file), tables)
  return [...tables]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, { what, columns }]) => ({
      name,
      what,
      columns: Array.from(columns, ([column, said]) => ({ name: column, ...said })),
    }))
}

function readMigration(sql: string, tables: Map<string, Draft>): void {
  let open: Draft | undefined
  let remarks: string[] = []
  for (const line of sql.split('\n')) {
    const remark = /^ *-- (.*)$/.exec(line)?.[1]
    if (remark !== undefined) {
      remarks.push(remark)
      continue
    }
    const what = remarks.join(' ')
    remarks = []
    if (open) {
      const [, name, type = ''] = COLUMN.exec(line) ?? []
      if (name) open.columns.set(name, { type, what })
      if (line === ');') open = undefined
      continue
    }
    const [, made] = TABLE.exec(line) ?? []
    if (made) tables.set(made, (open = { what, columns: new Map() }))
    else readStatement(line, what, tables)
  }
}

function readStatement(line: string, what: string, tables: Map<string, Draft>): void {
  const [, table = '', column = '', type = ''] = ADDED.exec(line) ?? []
  tables.get(table)?.columns.set(column, { type, what })
  const [, from, gone = ''] = REMOVED.exec(line) ?? []
  if (from) tables.get(from)?.columns.delete(gone)
  else tables.delete(gone)
  const [, ofTable, ofColumnIn = '', ofColumn = '', written = ''] = COMMENT.exec(line) ?? []
  const said = written.replaceAll("''", "'")
  const draft = ofTable ? tables.get(ofTable) : undefined
  if (draft) draft.what = said
  const told = tables.get(ofColumnIn)?.columns.get(ofColumn)
  if (told) told.what = said
}

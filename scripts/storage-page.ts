import type { Repository } from './repository.ts'

const APPS = ['auth', 'resource'] as const
const TITLES = { auth: 'The authorization server', resource: 'The API' } as const

/** How long the rows of each table are stored. docs/retention.md says the same of personal data, in words for people. */
export const ROW_RETENTION: Readonly<Record<'auth' | 'resource', Readonly<Record<string, string>>>> = {
  auth: {
    agent_secrets: 'until the secret is revoked, or the agent registers keys instead, is deleted or expires',
    agents:
      'until the agent expires. The row of a deleted agent is kept without its name, secrets and keys. The row of a connection is kept until the record of its e-mail verification is deleted, or for an hour if it never had one',
    app_clients:
      '90 to 91 days after a person last signed in with it. If nobody did: 91 days, or less (at least an hour) while there are too many unused apps',
    blocked_domain_audit: 'never deleted (append-only)',
    blocked_domains: 'until the domain is unblocked',
    claim_attempts:
      'two days. The address is erased when the attempt ends: after 24 hours at most, or after ten minutes for a sign-in. If the agent ended it, the hashes of the address are erased when the link expires',
    claim_blocks: '30 days',
    claim_tries: 'a day',
    claims:
      'until 30 days after the e-mail verification ended. It ends after 30 days at most, and the address is erased then',
    client_assertions: 'until a few minutes after the assertion has expired',
    expired_agents: '90 days, and at most ten times AUTH_NEVER_USED_CLIENTS rows',
    identity_assertions: 'until the assertion has expired, 24 hours',
    key_audit: 'never deleted (append-only)',
    key_followers:
      'while the instance runs; if it was killed, until another instance stops, at least an hour later',
    key_ring: 'one row',
    mails: 'content until it is sent, or 8 days; the row 30 days',
    oauth_records: 'until the code, refresh token, grant or sign-in is over: a minute to 30 days',
    resource_server_followers:
      'while the instance runs; if it was killed, until another instance stops, at least an hour later',
    resource_server_secrets: 'never deleted. They have only the beginning of a hash, and times',
    sign_ins: 'until the sign-in is over, half an hour at most',
    signing_keys: 'never deleted. The private part is erased when the key stops signing',
    token_stop: 'one row',
    token_stop_audit: 'never deleted (append-only)',
    token_store_in_use: 'one row',
    tokens: 'an hour, or eight hours for an app. With Redis, the table is empty',
  },
  resource: {
    answer_switches: 'until an operator turns it on again',
    contact_messages:
      'an unconfirmed message until its link expires. Other rows are never deleted: their text and addresses are erased 90 days after delivery',
    desk_audit: 'never deleted (append-only)',
    guide_reviews: 'never deleted (append-only)',
    guide_versions: 'never deleted (append-only)',
    guides: 'one row for each guide',
    mails: 'content until it is sent, or 8 days; the row 30 days',
    trigger_reviews: 'never deleted (append-only)',
    used_proofs: 'until a few minutes after the proof has expired. With Redis, the table is empty',
    waitlist_entries: 'until the person leaves',
    waitlist_links: 'as long as the entry. A link to leave that a person requested: 7 days',
  },
}

/** Renders docs/storage.md: every table and column of both databases, and the data stored elsewhere. */
export function renderStoragePage(repository: Repository): string {
  return `# Storage

\`npm run generate\` writes this page from \`apps/auth/migrations\`, \`apps/resource/migrations\` and \`scripts/storage-page.ts\`. A test
compares its tables and columns with migrated databases.

- [Retention](retention.md) says in plain words, for people, what is stored about them.
- [Architecture](architecture.md#what-is-stored) says how values are sealed.
- The descriptions of tables and columns are comments in migrations, which never change. The [glossary](glossary.md) explains their older words:
  a token *lives* (is valid), a *claim* is an e-mail verification, the *generation* is the credential version, the *desk* is the staff inbox.

${APPS.map((app) => `## ${TITLES[app]}\n\n${readTables(repository, app).map(renderSection(app)).join('\n')}`).join('\n')}
## Elsewhere

| where | what | how long |
|---|---|---|
| schema \`graphile_worker\`, in databases that are older than the migration \`one-mail-queue\` | jobs of mails, each the id of a mail. Nothing reads them | until it is [dropped](decisions/0029-a-row-of-mails-is-the-queue.md) |
| Redis \`auth:token:*\` | SHA-256 of a token; its client, scopes, epoch and credential version, and the thumbprint of the key to which it is bound | the lifetime of the token: an hour, or eight hours for an app |
| Redis \`auth:proof:*\` | SHA-256 of the client and the \`jti\` of a DPoP proof that was used. Without Redis, it is in \`client_assertions\` | five minutes |
| Redis \`auth:generation:*\`, \`auth:stop\` | cached copies of \`agents.generation\` and \`token_stop\` | until the tokens that need them expire |
| Redis \`auth:store\` | a random id, by which commands recognise the Redis of the instances | until Redis loses its data |
| Redis \`revocation:state\` | subscribers that receive revocations, and the number of the last revocation | while they run |
| Redis \`auth:*\`, \`resource:*\` of limits | counts under keyed hashes whose key changes daily | their window, a day at most. The key: two days |
| Redis \`resource:proof:*\`, \`resource:proofs-since\` | SHA-256 of the key and the \`jti\` of a DPoP proof that was used; the replication ID of Redis, and since when it has been this one | three minutes; until Redis loses its data |
| memory of each API process | introspection responses, under SHA-256 of the token | 30 s, and only under a lease |
| files that settings name | key-encryption keys, hash keys, credentials | you must keep them yourself |
`
}

const renderSection =
  (app: (typeof APPS)[number]) =>
  ({ name, description, columns }: StoredTable) =>
    [
      `### ${app}: ${name}\n`,
      `${formatSentence(description)}Rows: ${ROW_RETENTION[app][name] ?? ''}.\n`,
      '| column | type | meaning |',
      '|---|---|---|',
      ...columns.map(
        (column) => `| \`${column.name}\` | ${column.type} | ${formatCell(column.description)} |`,
      ),
      '',
    ].join('\n')

const formatCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
/** Returns a text with a capital, a full stop and a space; '' for an empty text. */
const formatSentence = (text: string) =>
  text && `${formatCell(text.charAt(0).toUpperCase() + text.slice(1)).replace(/\.$/, '')}. `

interface StoredColumn {
  readonly name: string
  readonly type: string
  readonly description: string
}

interface StoredTable {
  readonly name: string
  readonly description: string
  readonly columns: readonly StoredColumn[]
}

/*
 * The lines of a migration from which tables and columns are read. Other statements, and these in another layout, are ignored.
 */
const CREATE_TABLE = /^create table (\w+) \($/
/** Matches a column in `create table`, but neither a constraint of the table nor a line that continues a column. */
const COLUMN_DEFINITION =
  /^ {2}(?!check\b|constraint\b|primary key\b|unique\b|foreign key\b)(\w+) +(\w+(?:\[\])?)/
const ADD_COLUMN = /^alter table (\w+) add column (\w+) (\w+(?:\[\])?)/
const DROP = /^(?:alter table (\w+) )?drop (?:column|table) (\w+)/
const COMMENT_STATEMENT = /^comment on (?:table (\w+)|column (\w+)\.(\w+)) is '((?:[^']|'')*)';$/

interface TableDraft {
  description: string
  readonly columns: Map<string, { type: string; description: string }>
}

/** Reads the tables that an app's migrations create, with their comments, sorted by name. */
export function readTables(repository: Repository, app: string): StoredTable[] {
  const tables = new Map<string, TableDraft>()
  for (const file of repository.files.filter((each) => each.startsWith(`apps/${app}/migrations/`)))
    readMigration(repository.read(file), tables)
  return [...tables]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, { description, columns }]) => ({
      name,
      description,
      columns: Array.from(columns, ([column, definition]) => ({ name: column, ...definition })),
    }))
}

/** Applies the statements of a migration to `tables`. A comment directly above a line describes what the line creates. */
function readMigration(sql: string, tables: Map<string, TableDraft>): void {
  let openTable: TableDraft | undefined
  let remarks: string[] = []
  for (const line of sql.split('\n')) {
    const remark = /^ *-- (.*)$/.exec(line)?.[1]
    if (remark !== undefined) {
      remarks.push(remark)
      continue
    }
    const description = remarks.join(' ')
    remarks = []
    if (openTable) {
      const [, name, type = ''] = COLUMN_DEFINITION.exec(line) ?? []
      if (name) openTable.columns.set(name, { type, description })
      if (line === ');') openTable = undefined
      continue
    }
    const [, createdTable] = CREATE_TABLE.exec(line) ?? []
    if (createdTable) {
      openTable = { description, columns: new Map() }
      tables.set(createdTable, openTable)
    } else readStatement(line, description, tables)
  }
}

function readStatement(line: string, description: string, tables: Map<string, TableDraft>): void {
  const [, table = '', column = '', type = ''] = ADD_COLUMN.exec(line) ?? []
  tables.get(table)?.columns.set(column, { type, description })
  const [, changedTable, droppedName = ''] = DROP.exec(line) ?? []
  if (changedTable) tables.get(changedTable)?.columns.delete(droppedName)
  else tables.delete(droppedName)
  const [, commentedTable, columnTable = '', commentedColumn = '', quotedComment = ''] =
    COMMENT_STATEMENT.exec(line) ?? []
  const text = quotedComment.replaceAll("''", "'")
  const draft = commentedTable ? tables.get(commentedTable) : undefined
  if (draft) draft.description = text
  const definition = tables.get(columnTable)?.columns.get(commentedColumn)
  if (definition) definition.description = text
}

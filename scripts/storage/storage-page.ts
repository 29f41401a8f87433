import type { Repository } from '../repository.ts'
import { LIVES } from './lives.ts'
import { readTables, type StoredTable } from './read-tables.ts'

export const STORAGE_PAGE = 'docs/storage.md'
const APPS = ['auth', 'resource'] as const
const TITLES = { auth: 'The authorization server', resource: 'The API' } as const

/** Every table and column of both databases, and what is elsewhere. */
export function storagePage(repository: Repository): string {
  return `# Storage

Made from \`apps/auth/migrations\`, \`apps/resource/migrations\` and \`scripts/storage/lives.ts\` by \`npm run generate\`; a test holds
what it says of tables and columns against databases that were migrated. [Retention](retention.md) tells people the same in their words,
[architecture](architecture.md#what-is-stored) how things are sealed.

${APPS.map((app) => `## ${TITLES[app]}\n\n${readTables(repository, app).map(section(app)).join('\n')}`).join('\n')}
## Elsewhere

| where | what | how long |
|---|---|---|
| schema \`graphile_worker\` of databases from before migration \`one-mail-queue\` | jobs of mails, each the id of a mail; nothing reads them | until it is [dropped](decisions/0029-a-row-of-mails-is-the-queue.md) |
| Redis \`auth:token:*\` | SHA-256 of a token; its client, scopes, epoch and generation | the life of the token, an hour |
| Redis \`auth:generation:*\`, \`auth:stop\` | mirrors of \`agents.generation\` and \`token_stop\` | as long as tokens that need them |
| Redis \`revocation:state\` | members that hear of revocations, and a number | while they run |
| Redis \`auth:*\`, \`resource:*\` of limits | counts under keyed hashes whose key changes daily | their window, a day at most; the key two days |
| memory of each API process | answers about tokens, under SHA-256 of the token | 30 s, and only under a lease |
| files that settings name | key-encryption keys, hash keys, credentials | yours to keep |
`
}

const section =
  (app: (typeof APPS)[number]) =>
  ({ name, what, columns }: StoredTable) =>
    [
      `### ${app}: ${name}\n`,
      `${sentence(what)}Rows: ${LIVES[app][name] ?? ''}.\n`,
      '| column | type | |',
      '|---|---|---|',
      ...columns.map((column) => `| \`${column.name}\` | ${column.type} | ${cell(column.what)} |`),
      '',
    ].join('\n')

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
const sentence = (text: string) =>
  text && `${cell(text.charAt(0).toUpperCase() + text.slice(1)).replace(/\.$/, '')}. `

/** @returns what is wrong between the tables and the lives that are written down */
export const livesBreaches = (repository: Repository): string[] =>
  APPS.flatMap((app) => {
    const tables = readTables(repository, app).map(({ name }) => name)
    const known = Object.keys(LIVES[app])
    return [
      ...tables
        .filter((name) => !known.includes(name))
        .map((name) => `scripts/storage/lives.ts: ${app}.${name} has no line`),
      ...known
        .filter((name) => !tables.includes(name))
        .map((name) => `scripts/storage/lives.ts: ${app}.${name} is no table`),
    ]
  })

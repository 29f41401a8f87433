import { argument, createFileErrorHandler, flag, option, Refusal, readLogFile } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import { selectLinesSince } from '@plainpath/http'
import {
  BackupError,
  loadBackup,
  openPool,
  openRestoredDatabase,
  readBackupHeader,
  writeBackup,
} from '@plainpath/postgres'
import { eraseEverything, readErasures, replayErasures } from '../erasure-log.ts'
import { MIGRATIONS } from '../migrations.ts'
import { defineCommand } from './define-command.ts'
import { formatErasureCounts } from './format-erasure-counts.ts'

/** Used proofs need no backup, because no proof is accepted for longer than 70 s. */
const EXCLUDED_TABLES = ['used_proofs']

/** The commands `backup` and `restore`. */
export const backupCommands = [
  defineCommand({
    name: 'backup',
    summary:
      'write a consistent snapshot of the database into a new file, without stopping the service; leaves out used proofs',
    parameters: { file: argument('<file>', 'the file to write; it must not exist yet') },
    settings: ['RESOURCE_MIGRATION_DATABASE_URL'],
    async run({ settings, args: { file } }) {
      const url = requireOwnerUrl(settings)
      const { rows, bytes, madeAt } = await writeBackup({
        url,
        app: 'resource',
        file,
        leaveOut: EXCLUDED_TABLES,
      }).catch(createFileErrorHandler((code) => `${file} cannot be written (${code}).`))
      return {
        json: { ok: true, file, rows, bytes, made_at: madeAt },
        text: `Wrote ${formatCount(rows, 'row')}, as of ${madeAt}, to ${file} (${bytes} bytes).\nKeep the key-encryption keys elsewhere: without them, the encrypted values in the backup are lost, and anyone who has both can read them. Other values are not encrypted, so protect the file as well.`,
      }
    },
  }),
  defineCommand({
    name: 'restore',
    summary:
      'restore a backup into an empty database; then repeat the erasures in the log, or erase every waitlist entry and message',
    parameters: {
      file: argument('<file>', 'the file that `backup` wrote'),
      log: option(
        '--log <path>',
        'the log of the API and its commands, from the backup or earlier until now; - reads standard input',
      ),
      eraseEverything: flag(
        '--erase-everything',
        'if there is no log: erase the whole waitlist and every message, since people may have erased any of them',
        ['log'],
      ),
    },
    settings: ['RESOURCE_DATABASE_URL', 'RESOURCE_MIGRATION_DATABASE_URL'],
    async run({ settings, args, operator, now }) {
      if (args.log === undefined && !args.eraseEverything)
        throw new Refusal(
          'Nothing was restored. Add --log <path> with the log since the backup, to repeat the erasures. If there is no log, add --erase-everything.',
          { exitCode: 2 },
        )
      const database = { url: requireOwnerUrl(settings), folder: MIGRATIONS }
      // The backup's header and the log are read first, so that an unreadable file changes nothing.
      const refuseFile = createFileErrorHandler(
        (code) => `${args.file} cannot be read (${code}). Nothing was changed.`,
      )
      const { made_at: madeAt } = await readBackupHeader(args.file).catch(refuseBackupError).catch(refuseFile)
      const erasures =
        args.log === undefined
          ? undefined
          : await readErasures(selectLinesSince(readLogFile(args.log), new Date(madeAt)))
      const { rows } = await loadBackup({ ...database, app: 'resource', file: args.file }).catch(
        refuseBackupError,
      )
      // Connects as the owner, because the app's role has no privileges yet.
      await using db = openPool(database.url, { max: 1, applicationName: 'plainpath resource command' })
      const audit = { actor: operator.user, now: now() }
      const erased = erasures ? await replayErasures(db, erasures, audit) : await eraseEverything(db, audit)
      const { rows: queuedRows } = await db.query<{ count: number }>(
        `select count(*)::int as count from mails where state = 'queued'`,
      )
      const queuedMails = queuedRows[0]?.count ?? 0
      const appRole = decodeURIComponent(new URL(settings.RESOURCE_DATABASE_URL).username)
      // The app's role gets its privileges only after the erasures, so the API never serves an erased row.
      await openRestoredDatabase({ ...database, appRole })
      return {
        json: {
          ok: true,
          done: true,
          made_at: madeAt,
          rows,
          mails: queuedMails,
          [erasures ? 'replayed' : 'everything']: erased,
        },
        text: [
          `Restored ${formatCount(rows, 'row')}, as of ${madeAt}.`,
          erasures
            ? `Erased again what the log records as erased: ${formatErasureCounts(erased)}.`
            : `Erased the whole waitlist and all messages: ${formatErasureCounts(erased)}.`,
          `Mails in the queue: ${queuedMails}. Any that were already sent after the backup will be sent again, with the same Message-ID.`,
        ].join('\n'),
      }
    },
  }),
]

function requireOwnerUrl(settings: { readonly RESOURCE_MIGRATION_DATABASE_URL: string | undefined }): string {
  const url = settings.RESOURCE_MIGRATION_DATABASE_URL
  if (!url)
    throw new Refusal(
      'RESOURCE_MIGRATION_DATABASE_URL is missing. Set it to the database URL of the role that owns the tables.',
    )
  return url
}

function refuseBackupError(error: unknown): never {
  throw error instanceof BackupError ? new Refusal(error.message) : error
}

import { argument, createFileErrorHandler, flag, option, Refusal, readLogFile } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import { selectLinesSince } from '@plainpath/http'
import {
  BackupError,
  loadBackup,
  openRestoredDatabase,
  readBackupHeader,
  writeBackup,
} from '@plainpath/postgres'
import { type Config, loadConfig } from '../config.ts'
import { type ReplayedRevocations, readLoggedRevocations } from '../replay/replay-revocations.ts'
import { type SecuredRestore, secureRestore } from '../replay/secure-restore.ts'
import { MIGRATIONS, openStores } from '../stores.ts'
import { defineCommand } from './define-command.ts'

/**
 * Tables that a backup leaves out, because their rows are useless in a restored database: a restore revokes all tokens, instances
 * report again, and a sign-in must be finished within half an hour.
 */
const EXCLUDED_TABLES = ['tokens', 'key_followers', 'resource_server_followers', 'sign_ins']
/** As in `define-command.ts`: waiting is better than making an operator repeat the command. */
const REDIS_TIMEOUT_MS = 2_000

/** The commands `backup` and `restore`. */
export const backupCommands = [
  defineCommand({
    name: 'backup',
    summary:
      'write a consistent snapshot of the database into a new file, without tokens and other short-lived rows; the service keeps running',
    parameters: { file: argument('<file>', 'the file to write; it must not exist yet') },
    settings: 'all',
    async run({ env, args: { file } }) {
      const config = loadConfig(env)
      const { rows, bytes, madeAt } = await writeBackup({
        url: requireOwnerUrl(config),
        app: 'auth',
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
      'restore a backup into an empty database; then revoke all tokens and signing keys, and repeat the revocations in the log, or revoke everything',
    parameters: {
      file: argument('<file>', 'the file that `backup` wrote'),
      log: option(
        '--log <path>',
        'the log of the server and its commands, from the backup or earlier until now; "-" for standard input',
      ),
      revokeEverything: flag(
        '--revoke-everything',
        'if there is no log: disable every client and revoke every e-mail verification, because any of them may have been revoked since the backup',
        ['log'],
      ),
    },
    settings: 'all',
    async run({ env, args, now, log, events, actor }) {
      const config = loadConfig(env)
      if (args.log === undefined && !args.revokeEverything)
        throw new Refusal(
          'Add --log <path> with the logs since the backup, or --revoke-everything if there is no log. Nothing was changed.',
          { exitCode: 2 },
        )
      const ownerUrl = requireOwnerUrl(config)
      const database = { url: ownerUrl, folder: MIGRATIONS }
      const refuseFile = createFileErrorHandler((code) => `${args.file} cannot be read (${code}).`)
      const { made_at: madeAt } = await readBackupHeader(args.file).catch(refuseBackupError).catch(refuseFile)
      const loggedRevocations =
        args.log === undefined
          ? undefined
          : await readLoggedRevocations(selectLinesSince(readLogFile(args.log), new Date(madeAt)))
      const { rows } = await loadBackup({ ...database, app: 'auth', file: args.file }).catch(
        refuseBackupError,
      )
      // Connects as the owner, because the app's role has no rights in the restored database yet. The owner's URL
      // must lead to the server itself, not to a pooler (docs/scaling.md).
      const ownerConfig = { ...config, databaseUrl: ownerUrl, isDatabasePooled: false }
      await using stores = await openStores(ownerConfig, {
        log,
        now,
        events,
        redisTimeoutMs: REDIS_TIMEOUT_MS,
      })
      const securedRestore = await secureRestore(stores, loggedRevocations, {
        actor,
        now,
        keys: config.keys,
      })
      const appRole = decodeURIComponent(new URL(config.databaseUrl).username)
      await openRestoredDatabase({ ...database, appRole })
      return {
        json: { ok: true, done: true, made_at: madeAt, rows, ...securedRestore },
        text: describeRestore({ madeAt, rows }, securedRestore),
      }
    },
  }),
]

function requireOwnerUrl({ migrationDatabaseUrl }: Config): string {
  if (!migrationDatabaseUrl)
    throw new Refusal('Set AUTH_MIGRATION_DATABASE_URL to the database URL of the owner role.')
  return migrationDatabaseUrl
}

function refuseBackupError(error: unknown): never {
  throw error instanceof BackupError ? new Refusal(error.message) : error
}

function describeRestore(
  { madeAt, rows }: { madeAt: string; rows: number },
  { replayed, everything, keys: revokedKeyCount, mails: queuedMailCount }: SecuredRestore,
): string {
  return [
    `Restored ${formatCount(rows, 'row')}, as of ${madeAt}.`,
    `Revoked all tokens, and ${formatCount(revokedKeyCount, 'signing key')} from the backup. A new key signs from now on. Agents must request new tokens and assertions.`,
    ...(replayed ? [describeReplayed(replayed)] : []),
    ...(everything
      ? [
          `Disabled ${formatCount(everything.clients, 'client')}, and revoked ${formatCount(everything.claims, 'e-mail verification')}. Agents must register again, and people must confirm again. Domains that were blocked since the backup are not blocked: block them again.`,
        ]
      : []),
    `Queued mails: ${queuedMailCount}. Any that were sent after the backup will be sent again, with the same Message-ID.`,
  ].join('\n')
}

function describeReplayed({
  clients,
  claims: verifications,
  secrets,
  documents,
  domains,
  changed: disabledForNewCredentials,
}: ReplayedRevocations): string {
  return `Revoked again, as in the log: ${formatCount(clients, 'client')}, ${formatCount(verifications, 'e-mail verification')}, ${formatCount(secrets, 'secret')}, and the tokens of ${formatCount(documents, 'client')} with a changed document. Blocked ${formatCount(domains, 'domain')} again. Clients disabled because the backup lacks their newer credentials: ${disabledForNewCredentials}.`
}

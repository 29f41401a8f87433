import {
  type CommandIo,
  type CommandLine,
  getCurrentActor,
  Refusal,
  runCommandLine,
} from '@plainpath/commands'
import { createLog } from '@plainpath/http'
import type { Environment } from '@plainpath/http/settings'
import { isUnavailable, migrate } from '@plainpath/postgres'
import { agentDocumentCommands } from './commands/agent-documents-command.ts'
import { agentsCommands } from './commands/agents-command.ts'
import { backupCommands } from './commands/backup-command.ts'
import { claimsCommands } from './commands/claims-command.ts'
import { configCommands } from './commands/config-command.ts'
import { type AuthContext, defineCommand } from './commands/define-command.ts'
import { grantsCommands } from './commands/grants-command.ts'
import { hostsCommands } from './commands/hosts-command.ts'
import { keysCommands } from './commands/keys-command.ts'
import { replayCommand } from './commands/replay-command.ts'
import { resourceServersCommands } from './commands/resource-servers-command.ts'
import { stopCommands } from './commands/stop-command.ts'
import { loadConfig } from './config.ts'
import { createEvents, logSecurityEvents } from './events.ts'
import { isRedisUnavailable } from './open-redis.ts'
import { serveAuth } from './serve.ts'
import { MIGRATIONS } from './stores.ts'

export const AUTH_COMMANDS: CommandLine<AuthContext> = {
  name: 'auth',
  description: 'The authorization server of Plainpath',
  groups: {
    config: 'the settings',
    keys: 'signing keys',
    agents: 'registered agents',
    claims: 'e-mail verifications, by which people confirm agents',
    grants: 'the access that people have given to apps',
    hosts: 'chat apps and IDEs that people connect from',
    'resource-servers': 'APIs that may introspect tokens',
  },
  commands: [
    defineCommand({
      name: 'serve',
      summary: 'run the server until SIGTERM',
      settings: 'all',
      json: false,
      async run({ env, now }) {
        await serveAuth(loadConfig(env), { log: createLog({ service: 'auth' }), now })
        return undefined
      },
    }),
    defineCommand({
      name: 'migrate',
      summary: 'apply the migrations, as the owner role',
      settings: 'all',
      json: false,
      async run({ env }) {
        const { migrationDatabaseUrl, databaseUrl } = loadConfig(env)
        if (!migrationDatabaseUrl)
          throw new Refusal('Set AUTH_MIGRATION_DATABASE_URL to the database URL of the owner role.')
        const appRole = decodeURIComponent(new URL(databaseUrl).username)
        const { applied } = await migrate({ url: migrationDatabaseUrl, folder: MIGRATIONS, appRole })
        const names = applied.join(', ')
        return { text: names ? `Applied: ${names}` : 'Nothing to do: the tables are up to date.' }
      },
    }),
    ...configCommands,
    ...keysCommands,
    ...agentsCommands,
    ...agentDocumentCommands,
    ...claimsCommands,
    ...grantsCommands,
    ...hostsCommands,
    ...stopCommands,
    replayCommand,
    ...backupCommands,
    ...resourceServersCommands,
  ],
}

/** SQLSTATE `disk_full`: the statement failed, and its transaction was rolled back. */
const DISK_FULL = '53100'

/**
 * Runs a command of the authorization server.
 *
 * @param words the command line without `node` and the script
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage or settings
 */
export function runAuthCommand(
  words: readonly string[],
  env: Environment,
  io: CommandIo,
  now = () => new Date(),
): Promise<number> {
  const log = createLog({ service: 'auth', write: (line) => io.printError(line.trimEnd()) })
  const actor = getCurrentActor()
  const events = createEvents()
  logSecurityEvents(events, log, actor)
  return runCommandLine(AUTH_COMMANDS, words, {
    io,
    context: { env, now, log, actor, events },
    explain(error) {
      if (!isUnavailable(error) && !isRedisUnavailable(error)) return undefined
      const { code } = error as NodeJS.ErrnoException
      if (code === DISK_FULL)
        return new Refusal(
          'The disk of PostgreSQL is full, so the last change was not stored. Earlier changes of this command may be. Free some space, then run the same command again.',
        )
      return new Refusal(`PostgreSQL or Redis is unavailable${code ? ` (${code})` : ''}.`)
    },
  })
}

import {
  type CommandIo,
  type CommandLine,
  getCurrentActor,
  Refusal,
  runCommandLine,
} from '@plainpath/commands'
import { createLog } from '@plainpath/http'
import { isUnavailable, migrate } from '@plainpath/postgres'
import { UnsealError } from '@plainpath/sealing'
import { answersCommands } from './commands/answers-command.ts'
import { backupCommands } from './commands/backup-command.ts'
import { configCommands } from './commands/config-command.ts'
import { contactCommands } from './commands/contact-command.ts'
import { defineCommand, type ResourceContext } from './commands/define-command.ts'
import { guidesCommands } from './commands/guides-command.ts'
import { maintenanceCommands } from './commands/maintenance-command.ts'
import { waitlistCommands } from './commands/waitlist-command.ts'
import { type Environment, loadConfig, loadMigrationConfig } from './config.ts'
import { MIGRATIONS } from './migrations.ts'
import { serveResource } from './serve.ts'

/** All commands of the API. `docs/commands.md` is generated from them. */
export const RESOURCE_COMMANDS: CommandLine<ResourceContext> = {
  name: 'resource',
  description: 'The resource API of Plainpath',
  groups: {
    config: 'check and describe the settings',
    guides: 'the guides of this release, and the published guides',
    answers: 'answers to questions',
    triggers: 'circumstances in which an answer refers a person to an attorney',
    waitlist: 'the waitlist',
    contact: 'messages to the staff inbox',
  },
  commands: [
    defineCommand({
      name: 'serve',
      summary: 'run the API until SIGTERM',
      settings: 'all',
      json: false,
      async run({ env, now }) {
        await serveResource(loadConfig(env), { log: createLog({ service: 'resource' }), now })
        return undefined
      },
    }),
    defineCommand({
      name: 'migrate',
      summary: 'bring the tables up to date, as the role that owns them',
      settings: ['RESOURCE_DATABASE_URL', 'RESOURCE_MIGRATION_DATABASE_URL'],
      json: false,
      async run({ env }) {
        const { applied } = await migrate({ folder: MIGRATIONS, ...loadMigrationConfig(env) })
        const names = applied.join(', ')
        return { text: names ? `Applied: ${names}` : 'Nothing to do: the tables are up to date.' }
      },
    }),
    ...configCommands,
    ...guidesCommands,
    ...answersCommands,
    ...waitlistCommands,
    ...contactCommands,
    ...maintenanceCommands,
    ...backupCommands,
  ],
}

/**
 * Runs the command line of the API.
 *
 * @param words the arguments, without `node` and the script's path
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage or settings
 */
export function runResourceCommand(
  words: readonly string[],
  env: Environment,
  io: CommandIo,
): Promise<number> {
  const log = createLog({ service: 'resource', write: (line) => io.printError(line.trimEnd()) })
  return runCommandLine(RESOURCE_COMMANDS, words, {
    io,
    context: { env, now: () => new Date(), log, operator: getCurrentActor() },
    explain(error) {
      if (error instanceof UnsealError)
        return new Refusal(
          'A stored address or message cannot be decrypted. Check that RESOURCE_KEK_FILE has every older key-encryption key.',
        )
      return isUnavailable(error)
        ? new Refusal(
            'The database is unavailable. Check that PostgreSQL runs, and that this machine can reach it.',
          )
        : undefined
    },
  })
}

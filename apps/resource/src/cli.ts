import { hostname } from 'node:os'
import { createLog } from '@plainpath/http'
import { isUnavailable, migrate } from '@plainpath/postgres'
import { SealError } from '@plainpath/sealing'
import { Command, CommanderError } from 'commander'
import { type CommandIo, Refusal, UNREADABLE } from './commands/command-io.ts'
import { configCommand } from './commands/config-command.ts'
import { contactCommand } from './commands/contact-command.ts'
import { actorName } from './commands/desk-command.ts'
import { guidesCommand } from './commands/guides-command.ts'
import { replayCommand } from './commands/replay-command.ts'
import { rewrapCommand } from './commands/rewrap-command.ts'
import { waitlistCommand } from './commands/waitlist-command.ts'
import { ConfigError, type Environment, loadConfig, loadMigrationConfig } from './config.ts'
import { erasureTeller } from './erasure-log.ts'
import { MIGRATIONS } from './migrations.ts'
import { serveResource } from './serve.ts'

/**
 * The command line of the API.
 *
 * @param args without `node` and the file
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage or settings
 */
export async function runResourceCommand(
  args: readonly string[],
  env: Environment,
  io: CommandIo,
): Promise<number> {
  try {
    await resourceProgram(env, io).parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof ConfigError || error instanceof Refusal) {
      io.printError(error.message)
      return error instanceof ConfigError ? 2 : 1
    }
    const isSealed = error instanceof SealError
    if (!isSealed && !isUnavailable(error)) throw error
    io.printError(isSealed ? UNREADABLE : 'The database does not answer.')
    return 1
  }
}

function resourceProgram(env: Environment, io: CommandIo): Command {
  const now = () => new Date()
  const log = createLog({ service: 'resource', write: (line) => io.printError(line.trimEnd()) })
  const desk = { now, tellErased: erasureTeller(log, { user: actorName(), host: hostname() }) }
  const program = new Command('resource').description('The resource API of Plainpath')
  program.exitOverride().configureOutput({
    writeOut: (text) => io.print(text.trimEnd()),
    writeErr: (text) => io.printError(text.trimEnd()),
  })
  program
    .command('serve')
    .description('run the API until SIGTERM')
    .action(() => serveResource(loadConfig(env), { log: createLog({ service: 'resource' }), now }))
  program
    .command('migrate')
    .description('bring the tables up to date, as the role that owns them')
    .action(async () => {
      const { applied } = await migrate({ folder: MIGRATIONS, ...loadMigrationConfig(env) })
      io.print(
        applied.length > 0 ? `Applied: ${applied.join(', ')}` : 'Nothing to do: the tables are up to date.',
      )
    })
  const commands = [
    configCommand(env, io),
    guidesCommand(env, io, now),
    waitlistCommand(env, io, desk),
    contactCommand(env, io, desk),
    rewrapCommand(env, io),
    replayCommand(env, io, now),
  ]
  for (const command of commands) {
    program.addCommand(command)
    for (const each of [command, ...command.commands]) each.copyInheritedSettings(program)
  }
  return program
}

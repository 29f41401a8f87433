import { createLog } from '@plainpath/http'
import { migrate } from '@plainpath/postgres'
import { Command, CommanderError } from 'commander'
import { agentsCommand } from './agents/agents-command.ts'
import { ConfigError, type Environment, loadConfig } from './config.ts'
import { initKeys } from './keys/init-keys.ts'
import { keysCommand } from './keys/keys-command.ts'
import { resourceServersCommand } from './resource-servers/resource-servers-command.ts'
import { serveAuth } from './serve.ts'
import { SETTINGS } from './settings.ts'
import { MIGRATIONS, openStores } from './wire-stores.ts'

export interface CommandIo {
  print(line: string): void
  printError(line: string): void
}

/** An answer that is no success, in one sentence for the person at the terminal. Exit code 1. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/**
 * The command line of the authorization server.
 *
 * @param args without `node` and the file
 * @returns the exit code: 0 done, 1 refused or failed, 2 wrong usage
 */
export async function runAuthCommand(
  args: readonly string[],
  env: Environment,
  io: CommandIo,
): Promise<number> {
  const now = () => new Date()
  const log = createLog({ service: 'auth' })
  const config = () => loadConfig(env)
  const stores = async <T>(work: (opened: Awaited<ReturnType<typeof openStores>>) => Promise<T>) => {
    await using opened = await openStores(config(), {
      log: createLog({ service: 'auth', write: io.printError }),
      now,
    })
    return await work(opened)
  }

  const program = new Command('auth').description('The authorization server of Plainpath').exitOverride()
  program.configureOutput({
    writeOut: (text) => io.print(text.trimEnd()),
    writeErr: (text) => io.printError(text.trimEnd()),
  })
  program
    .command('serve')
    .description('run the server until SIGTERM')
    .action(() => serveAuth(config(), { log, now }))
  program
    .command('migrate')
    .description('bring the tables up to date, as the owner role')
    .action(async () => {
      const { migrationDatabaseUrl, databaseUrl } = config()
      if (!migrationDatabaseUrl)
        throw new Refusal('AUTH_MIGRATION_DATABASE_URL is missing: the URL of the owner role.')
      const appRole = decodeURIComponent(new URL(databaseUrl).username)
      const { applied } = await migrate({ url: migrationDatabaseUrl, folder: MIGRATIONS, appRole })
      io.print(
        applied.length > 0 ? `Applied: ${applied.join(', ')}` : 'Nothing to do: the tables are up to date.',
      )
    })
  program
    .command('config')
    .description('look at the settings')
    .command('check')
    .description('read every setting as the server would, and say what is wrong')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) => {
      config()
      const set = Object.keys(SETTINGS).filter((name) => env[name] !== undefined)
      io.print(
        options.json
          ? JSON.stringify({ ok: true, set })
          : `The configuration is valid. Set: ${set.join(', ')}`,
      )
    })
  program.addCommand(
    keysCommand({
      io,
      init: () => stores((opened) => initKeys({ keys: opened.keys, now })),
      list: () => stores((opened) => opened.keys.read()),
    }),
  )
  program.addCommand(agentsCommand({ io, refuse: (text) => new Refusal(text), stores }))
  program.addCommand(resourceServersCommand({ io, refuse: (text) => new Refusal(text) }))

  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof Refusal || error instanceof ConfigError) {
      io.printError(error.message)
      return error instanceof ConfigError ? 2 : 1
    }
    throw error
  }
}

import { createLog } from '@plainpath/http'
import { migrate } from '@plainpath/postgres'
import { Command, CommanderError } from 'commander'
import { addAgentsCommand } from './agents/agents-command.ts'
import { thisActor } from './audit-chain.ts'
import { addClaimsCommand } from './claims/claims-command.ts'
import { rewrapClaims } from './claims/postgres-claim-addresses.ts'
import { commandFailure, Refusal } from './command-failure.ts'
import { ConfigError, type Environment, loadConfig } from './config.ts'
import { addConfigCommand } from './config-command.ts'
import { createEvents, logSecurityEvents } from './events.ts'
import { initKeys, keyOperations } from './keys/key-operations.ts'
import { addKeysCommand } from './keys/keys-command.ts'
import { serveAuth } from './serve.ts'
import { MIGRATIONS, openStores, type Stores } from './stores.ts'
import { addStoreCommands } from './wire/wire-commands.ts'

/** Longer than in the server: an operator waits rather than does it again. */
const REDIS_TIMEOUT_MS = 2_000

export interface CommandIo {
  print(line: string): void
  printError(line: string): void
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
  const log = createLog({ service: 'auth', write: (line) => io.printError(line.trimEnd()) })
  const config = () => loadConfig(env)
  const events = createEvents()
  logSecurityEvents(events, log, thisActor())
  const stores = async <T>(work: (opened: Stores) => Promise<T>) => {
    await using opened = await openStores(config(), { log, now, events, redisTimeoutMs: REDIS_TIMEOUT_MS })
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
    .action(() => serveAuth(config(), { log: createLog({ service: 'auth' }), now }))
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
  addConfigCommand(program, { io, env, load: config })
  const refuse = (text: string) => new Refusal(text)
  addKeysCommand(program, {
    io,
    init: () => stores((opened) => initKeys({ keys: opened.keys })),
    refuse,
    rewrapNames: (options) => stores((opened) => opened.agents.rewrapNames(options)),
    rewrapClaims: (options) => stores((opened) => rewrapClaims(opened.db, config().sealingKeys, options)),
    operations: (work) =>
      stores((opened) =>
        work(
          keyOperations({
            keys: opened.keys,
            settings: config().keys,
            by: thisActor(),
            announceEnd: () => opened.revoker.announceEnd({ kind: 'everything' }),
          }),
        ),
      ),
  })
  addAgentsCommand(program, { io, refuse, stores, now })
  addClaimsCommand(program, { io, refuse, stores, now })
  addStoreCommands(program, { io, refuse, config, stores, events, now })

  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const failure = error instanceof ConfigError ? error.message : commandFailure(error)
    if (failure) io.printError(failure)
    else log.error('the command failed', { error })
    return error instanceof ConfigError ? 2 : 1
  }
}

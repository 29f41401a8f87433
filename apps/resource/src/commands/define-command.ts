import {
  type Command,
  type CommandArguments,
  type CommandEntry,
  type CommandParameters,
  createWholeNumberParser,
  option,
  Refusal,
} from '@plainpath/commands'
import type { Log } from '@plainpath/http'
import { findDatabaseMistake, openPool, type Pool } from '@plainpath/postgres'
import { type Environment, readSettings, type SelectedSettings, type SettingName } from '../config.ts'
import { MIGRATIONS } from '../migrations.ts'

/** The context that every handler receives in addition to its arguments and settings. */
export interface ResourceContext {
  readonly env: Environment
  readonly now: () => Date
  readonly log: Log
  /** The user and the machine that run the command, for the audit log and log lines. */
  readonly operator: { readonly user: string; readonly host: string }
}

/** The members that a handler receives in addition, by the value of `opens`. */
interface OpenedResources {
  readonly nothing: object
  readonly database: { readonly db: Pool }
}

type HandlerContext<Name extends SettingName, Opens extends keyof OpenedResources> = ResourceContext &
  OpenedResources[Opens] & { readonly settings: SelectedSettings<Name> }

interface ResourceEntry<
  P extends CommandParameters,
  Name extends SettingName,
  Opens extends keyof OpenedResources,
> extends CommandEntry<P, HandlerContext<Name, Opens>> {
  /**
   * The settings that the handler receives. With `all`, docs/commands.md says that the command reads all settings. The handler
   * then reads them itself from `env`.
   */
  readonly settings?: 'all' | readonly Name[]
  /** `database` opens the database of RESOURCE_DATABASE_URL. */
  readonly opens?: Opens
}

/**
 * Defines a command. Its handler receives the settings that the entry names and, with `opens: 'database'`, a pool. `run` of the
 * result throws `ConfigError` for an invalid setting. It refuses a database that `findDatabaseMistake` rejects, such as a
 * standby.
 */
export function defineCommand<
  P extends CommandParameters,
  Name extends SettingName = never,
  Opens extends keyof OpenedResources = 'nothing',
>(entry: ResourceEntry<P, Name, Opens>): Command<ResourceContext> {
  const opensDatabase = entry.opens === 'database'
  const entrySettings = entry.settings === 'all' ? [] : (entry.settings ?? [])
  const settingNames: readonly SettingName[] = opensDatabase
    ? ['RESOURCE_DATABASE_URL', ...entrySettings]
    : entrySettings
  return {
    ...entry,
    settings: entry.settings === 'all' ? 'all' : settingNames,
    async run(args, context) {
      const settings = settingNames.length > 0 ? readSettings(context.env, settingNames) : undefined
      await using db = opensDatabase ? openCommandPool(context.env) : undefined
      const mistake = db && (await findDatabaseMistake(db, DATABASE_CHECK))
      if (mistake !== undefined) throw new Refusal(`${mistake} Nothing was changed.`)
      // The entry's type determines which of these the handler can use.
      const handlerInput: unknown = { ...context, args, settings, db }
      return await entry.run(
        handlerInput as HandlerContext<Name, Opens> & { readonly args: CommandArguments<P> },
      )
    },
  }
}

/**
 * The `patience` of `openPool`. The time limits are longer than in the API: an operator would rather wait than repeat a
 * command.
 */
const DATABASE_TIMEOUT_FACTOR = 4
const DATABASE_CHECK = {
  app: 'resource',
  variable: 'RESOURCE_DATABASE_URL',
  folder: MIGRATIONS,
  // Commands must also run on the tables of a newer release: after a rollback, the Job `resource-migrate` of the older release
  // publishes its guides in them. No table lists the API instances, so this cannot check for one, and assumes that one runs.
  isReleaseRunning: async () => true,
}

const openCommandPool = (env: Environment) =>
  openPool(readSettings(env, ['RESOURCE_DATABASE_URL']).RESOURCE_DATABASE_URL, {
    max: 1,
    patience: DATABASE_TIMEOUT_FACTOR,
    applicationName: 'plainpath resource command',
  })

export const limitOption = option('--limit <number>', 'the maximum number of rows to list, 1 to 10,000', {
  parse: createWholeNumberParser(1, 10_000),
  default: 100,
})

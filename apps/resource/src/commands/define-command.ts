import {
  type Arguments,
  type Command,
  type Entry,
  option,
  type Parameters,
  wholeNumber,
} from '@plainpath/commands'
import type { Log } from '@plainpath/http'
import { openPool, type Pool } from '@plainpath/postgres'
import { type Environment, readSettings, type SettingName, type Values } from '../config.ts'

/** The context of every handler, in addition to its arguments and the settings that its entry names. */
export interface ResourceContext {
  readonly env: Environment
  readonly now: () => Date
  readonly log: Log
  /** The user who runs the command, for audits and the log. */
  readonly operator: { readonly user: string; readonly host: string }
}

interface Opened {
  readonly nothing: object
  readonly database: { readonly db: Pool }
}

type HandlerContext<Name extends SettingName, Opens extends keyof Opened> = ResourceContext &
  Opened[Opens] & { readonly settings: Values<Name> }

interface ResourceEntry<P extends Parameters, Name extends SettingName, Opens extends keyof Opened>
  extends Entry<P, HandlerContext<Name, Opens>> {
  /** `all` only documents that the command uses every setting; its handler reads them itself. */
  readonly settings?: 'all' | readonly Name[]
  /** `database` opens the database of RESOURCE_DATABASE_URL. */
  readonly opens?: Opens
}

/** Defines a command. Its handler receives only the settings and the database that the entry names. */
export function defineCommand<
  P extends Parameters,
  Name extends SettingName = never,
  Opens extends keyof Opened = 'nothing',
>(entry: ResourceEntry<P, Name, Opens>): Command<ResourceContext> {
  const opensDatabase = entry.opens === 'database'
  const ownSettings = entry.settings === 'all' ? [] : (entry.settings ?? [])
  const names: readonly SettingName[] = opensDatabase
    ? ['RESOURCE_DATABASE_URL', ...ownSettings]
    : ownSettings
  return {
    ...entry,
    settings: entry.settings === 'all' ? 'all' : names,
    async run(args, context) {
      const settings = names.length > 0 ? readSettings(context.env, names) : undefined
      await using db = opensDatabase ? openCommandPool(context.env) : undefined
      // The type of the entry decides which of these the handler can use.
      const call: unknown = { ...context, args, settings, db }
      return await entry.run(call as HandlerContext<Name, Opens> & { readonly args: Arguments<P> })
    },
  }
}

const openCommandPool = (env: Environment) =>
  openPool(readSettings(env, ['RESOURCE_DATABASE_URL']).RESOURCE_DATABASE_URL, {
    max: 1,
    applicationName: 'plainpath resource command',
  })

export const limit = option('--limit <number>', 'how many', { parse: wholeNumber(1, 10_000), default: 100 })

import {
  argument,
  type Command,
  type CommandArguments,
  type CommandEntry,
  type CommandParameters,
  createWholeNumberParser,
  InvalidArgumentError,
  option,
  Refusal,
} from '@plainpath/commands'
import { AgentId } from '@plainpath/domain'
import type { Log } from '@plainpath/http'
import type { Environment } from '@plainpath/http/settings'
import { holdLock, isUnavailable } from '@plainpath/postgres'
import type { Actor } from '../audit/audit-chain.ts'
import { type Config, loadConfig } from '../config.ts'
import type { AuthEvents } from '../events.ts'
import { requireSameStores } from '../instances/require-same-stores.ts'
import { isRedisUnavailable } from '../open-redis.ts'
import { openStores, type Stores } from '../stores.ts'

/** The runtime dependencies of every handler, in addition to its arguments and stores. */
export interface AuthContext {
  readonly env: Environment
  readonly now: () => Date
  readonly log: Log
  /** The operator who runs the command, for audit logs. */
  readonly actor: Actor
  readonly events: AuthEvents
}

/** The stores and methods that use only PostgreSQL. None of them revokes a token, because tokens may be in Redis. */
type DatabaseStores = Pick<Stores, 'db' | 'keys' | 'resourceServerFollowers'> & {
  readonly agents: Pick<Stores['agents'], 'enable' | 'find' | 'list' | 'reencryptNames'>
  readonly urlClients: Pick<
    Stores['urlClients'],
    'readBlockAudit' | 'isDomainBlocked' | 'listByDomain' | 'setBlocked'
  >
  readonly appClients: Pick<Stores['appClients'], 'reencryptNames'>
  readonly verifications: Pick<
    Stores['verifications'],
    'find' | 'findConfirmed' | 'list' | 'listGrants' | 'findLive'
  >
  readonly verificationAttempts: Pick<Stores['verificationAttempts'], 'findByRegistration'>
  readonly emergencyRevocations: Pick<Stores['emergencyRevocations'], 'readAudit'>
}

/**
 * The objects that a handler receives besides `AuthContext`, keyed by the value of `opens`. `all stores` also opens Redis, if its
 * URL is set.
 */
interface OpenedStores {
  readonly nothing: object
  readonly database: { readonly config: Config; readonly stores: DatabaseStores }
  readonly 'all stores': { readonly config: Config; readonly stores: Stores }
}

interface AuthCommandEntry<P extends CommandParameters, Opens extends keyof OpenedStores>
  extends CommandEntry<P, AuthContext & OpenedStores[Opens]> {
  /** For docs/commands.md: set this if the handler reads the settings itself although it opens no store. */
  readonly settings?: 'all'
  readonly opens?: Opens
  /**
   * True if the command stores encrypted data. The command is then refused unless all running instances have the key under which
   * it encrypts.
   */
  readonly encrypts?: true
  /**
   * Returns what no other command may change meanwhile, such as a client_id; undefined if the arguments need no lock. Works only
   * with `opens`, because the lock is an advisory lock of PostgreSQL.
   */
  readonly getLockedResource?: (args: CommandArguments<P>) => string | undefined
}

/** Longer than in the server: waiting is better than making an operator repeat the command. */
const REDIS_TIMEOUT_MS = 2_000
/** By this factor, the timeouts of PostgreSQL are longer too. */
const DATABASE_TIMEOUT_FACTOR = 4

/**
 * Defines a command. It connects only to the stores that it opens, and refuses to run if these are not the stores of the running
 * instances.
 */
export function defineCommand<P extends CommandParameters, Opens extends keyof OpenedStores = 'nothing'>(
  entry: AuthCommandEntry<P, Opens>,
): Command<AuthContext> {
  const { opens = 'nothing' } = entry
  return {
    ...entry,
    settings: entry.settings ?? (opens === 'nothing' ? [] : 'all'),
    async run(args, context) {
      const config = opens === 'nothing' ? undefined : loadConfig(context.env)
      const encrypts = entry.encrypts === true
      await using stores =
        config && (await openStoresFor(opens, config, context, encrypts).catch(refuseUnavailable))
      const lockedResource = entry.getLockedResource?.(args as CommandArguments<P>)
      await using _lock = config && lockedResource ? await lockResource(config, lockedResource) : undefined
      // `OpenedStores` declares which of these the handler sees.
      const handlerContext: unknown = { ...context, config, stores, args }
      return await entry.run(
        handlerContext as AuthContext & OpenedStores[Opens] & { readonly args: CommandArguments<P> },
      )
    },
  }
}

async function openStoresFor(
  opens: keyof OpenedStores,
  config: Config,
  { log, now, events }: AuthContext,
  encrypts: boolean,
): Promise<Stores> {
  await using resources = new AsyncDisposableStack()
  const redisUrl = opens === 'all stores' ? config.redisUrl : undefined
  const options = {
    log,
    now,
    events,
    redisTimeoutMs: REDIS_TIMEOUT_MS,
    databasePatience: DATABASE_TIMEOUT_FACTOR,
  }
  const stores = resources.use(await openStores({ ...config, redisUrl }, options))
  await requireSameStores(config, stores, { usesTokens: opens === 'all stores', encrypts })
  resources.move()
  return stores
}

/** Refuses a command whose stores are unavailable. Commands change nothing before all their stores are open. */
function refuseUnavailable(error: unknown): never {
  if (!isUnavailable(error) && !isRedisUnavailable(error)) throw error
  const { code } = error as NodeJS.ErrnoException
  throw new Refusal(
    `PostgreSQL or Redis is unavailable${code ? ` (${code})` : ''}. Nothing was changed. Run the same command again.`,
  )
}

async function lockResource({ sessionDatabaseUrl }: Config, resource: string): Promise<AsyncDisposable> {
  const lock = await holdLock(sessionDatabaseUrl, `plainpath command ${resource}`)
  if (!lock)
    throw new Refusal(
      `Another command is changing ${resource} now. Nothing was changed. When that command has ended, check its result, then run this command again.`,
    )
  return lock
}

export function parseAgentId(text: string): AgentId {
  const id = AgentId.safeParse(text)
  if (!id.success)
    throw new InvalidArgumentError(
      'A client_id is agt_ followed by 22 characters, or the https URL of a document.',
    )
  return id.data
}

export const limit = option('--limit <number>', 'the maximum number of rows, 1 to 1000', {
  parse: createWholeNumberParser(1, 1_000),
  default: 50,
})

export const clientId = argument(
  '<client_id>',
  'the client_id of an agent: agt_ followed by 22 characters, or an https URL',
  parseAgentId,
)

export function parseReason(text: string): string {
  if (!/^[^\p{Cc}]{1,200}$/u.test(text.trim()))
    throw new InvalidArgumentError('A reason is one line of 1 to 200 characters.')
  return text.trim()
}

/** The reason that an audit log records. */
export const reason = option('--reason <text>', 'the reason, for the audit log; up to 200 characters', {
  parse: parseReason,
  required: true,
})

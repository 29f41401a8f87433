import {
  type Arguments,
  argument,
  type Command,
  type Entry,
  InvalidArgumentError,
  option,
  type Parameters,
  wholeNumber,
} from '@plainpath/commands'
import { AgentId } from '@plainpath/domain'
import type { Log } from '@plainpath/http'
import type { Environment } from '@plainpath/http/settings'
import type { Actor } from '../audit/audit-chain.ts'
import { type Config, loadConfig } from '../config.ts'
import type { AuthEvents } from '../events.ts'
import { openStores, type Stores } from '../stores.ts'

/** What every handler receives, beside its arguments and the stores that it opens. */
export interface AuthContext {
  readonly env: Environment
  readonly now: () => Date
  readonly log: Log
  /** The operator who runs the command, for audits. */
  readonly actor: Actor
  readonly events: AuthEvents
}

/** Stores that need PostgreSQL only. They revoke no token, since tokens may be in Redis. */
type DatabaseStores = Pick<Stores, 'db' | 'keys' | 'resourceServerFollowers'> & {
  readonly agents: Pick<Stores['agents'], 'enable' | 'find' | 'list' | 'rewrapNames'>
  readonly urlClients: Pick<
    Stores['urlClients'],
    'blockAudit' | 'isDomainBlocked' | 'listOfDomain' | 'setBlocked'
  >
  readonly appClients: Pick<Stores['appClients'], 'rewrapNames'>
  readonly claims: Pick<Stores['claims'], 'find' | 'findConfirmed' | 'list' | 'listGrants' | 'live'>
  readonly claimAttempts: Pick<Stores['claimAttempts'], 'findByRegistration'>
  readonly stops: Pick<Stores['stops'], 'audit'>
}

interface Opened {
  readonly nothing: object
  readonly database: { readonly config: Config; readonly stores: DatabaseStores }
  readonly stores: { readonly config: Config; readonly stores: Stores }
}

interface AuthEntry<P extends Parameters, Opens extends keyof Opened>
  extends Entry<P, AuthContext & Opened[Opens]> {
  /** For the documentation, when the handler reads the settings itself. A command that opens stores reads all of them. */
  readonly settings?: 'all'
  readonly opens?: Opens
}

/** Longer than in the server: waiting is better than making an operator repeat the command. */
const REDIS_TIMEOUT_MS = 2_000

/** Defines a command. It connects only to the stores that it opens. */
export function defineCommand<P extends Parameters, Opens extends keyof Opened = 'nothing'>(
  entry: AuthEntry<P, Opens>,
): Command<AuthContext> {
  const { opens = 'nothing' } = entry
  return {
    ...entry,
    settings: entry.settings ?? (opens === 'nothing' ? [] : 'all'),
    async run(args, context) {
      const config = opens === 'nothing' ? undefined : loadConfig(context.env)
      await using stores = config && (await openFor(opens, config, context))
      // `Opened` types which of these the handler sees.
      const call: unknown = { ...context, config, stores, args }
      return await entry.run(call as AuthContext & Opened[Opens] & { readonly args: Arguments<P> })
    },
  }
}

async function openFor(
  opens: keyof Opened,
  config: Config,
  { log, now, events }: AuthContext,
): Promise<Stores> {
  const redisUrl = opens === 'stores' ? config.redisUrl : undefined
  return await openStores({ ...config, redisUrl }, { log, now, events, redisTimeoutMs: REDIS_TIMEOUT_MS })
}

export function parseAgentId(text: string): AgentId {
  const id = AgentId.safeParse(text)
  if (!id.success)
    throw new InvalidArgumentError('A client_id is agt_ and 22 characters, or the https URL of a document.')
  return id.data
}

export const limit = option('--limit <number>', 'how many, 1 to 1000', {
  parse: wholeNumber(1, 1_000),
  default: 50,
})

export const clientId = argument('<client_id>', 'agt_ and 22 characters, or an https URL', parseAgentId)

/** The reason that an audit records. */
export const reason = option('--reason <text>', 'why, for the audit; up to 200 characters', {
  parse(text: string) {
    if (!/^[^\p{Cc}]{1,200}$/u.test(text.trim()))
      throw new InvalidArgumentError('1 to 200 characters on one line.')
    return text.trim()
  },
  required: true,
})

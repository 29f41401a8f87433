import { type Finding, type Log, type ReadinessChecks, runApp } from '@plainpath/http'
import { isUnavailable, missingMigrations, openPool, type Pool } from '@plainpath/postgres'
import type { Config } from './config.ts'
import { postgresKeyStore, UnreadableKey } from './keys/key-store.ts'
import { instanceKeys } from './keys/signing-key.ts'
import { MIGRATIONS } from './stores.ts'
import { isRedisUnavailable, openRedis } from './tokens/open-redis.ts'
import { openAuth } from './wire.ts'

/**
 * Runs the authorization server until SIGTERM or SIGINT. While a store is away at the start, only operators find it
 * listening: what it serves is signed with keys that it has not read.
 */
export async function serveAuth(config: Config, deps: { log: Log; now: () => Date }): Promise<void> {
  await using needs = openNeeds(config)
  await runApp({
    ...config,
    ...deps,
    isPassing,
    needs: needs.checks,
    open: () => openAuth(config, deps),
    listeners: ({ internalApp, publicApp }) => ({
      internal: { ...config.internal, handler: internalApp.callback() },
      public: { ...config.public, handler: publicApp.callback() },
    }),
  })
}

/**
 * What this server cannot start without: PostgreSQL with every table, a signing key that it can open and, where it is
 * set, a Redis that evicts nothing. It makes none of them. Looks over one connection of its own, which ends when unused.
 */
function openNeeds(config: Config): AsyncDisposable & { readonly checks: ReadinessChecks } {
  const db = openPool(config.databaseUrl, { applicationName: 'plainpath auth start', max: 1 })
  const { redisUrl } = config
  return {
    checks: {
      database: () => tablesOf(db),
      keys: () => keysIn(db, config),
      ...(redisUrl !== undefined && { redis: () => redisAt(redisUrl) }),
    },
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

/** Whether what opening threw says "not now". */
const isPassing = (error: unknown) => isUnavailable(error) || isRedisUnavailable(error)

async function tablesOf(db: Pool): Promise<Finding> {
  try {
    const missing = await missingMigrations(db, MIGRATIONS)
    return missing.length === 0 || { awaited: `migrations ${missing.join(', ')}: run "auth migrate"` }
  } catch (error) {
    if (isUnavailable(error)) return { awaited: 'PostgreSQL' }
    const state = sqlState(error)
    return { awaited: state ? `PostgreSQL (${state})` : (error as Error).message }
  }
}

async function keysIn(db: Pool, { sealingKeys }: Config): Promise<Finding> {
  try {
    instanceKeys((await postgresKeyStore(db, sealingKeys).read()).keys)
    return true
  } catch (error) {
    // That there is no database, or no table, is said by the other check.
    if (isUnavailable(error) || sqlState(error)) return false
    return {
      awaited:
        error instanceof UnreadableKey ? `${error.message}: see AUTH_KEK_FILE` : (error as Error).message,
    }
  }
}

async function redisAt(url: string): Promise<Finding> {
  try {
    await using _redis = await openRedis(url, SILENT)
    return true
  } catch (error) {
    return { awaited: isRedisUnavailable(error) ? 'Redis' : `Redis: ${(error as Error).message}` }
  }
}

/** Such as `28P01`, of a server that refuses us. */
const sqlState = (error: unknown) =>
  /^[0-9A-Z]{5}$/.exec(String((error as { code?: unknown } | undefined)?.code))?.[0]

const quiet = () => undefined
const SILENT: Log = { info: quiet, warn: quiet, error: quiet }

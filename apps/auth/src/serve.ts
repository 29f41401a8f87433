/*
 * Runs the server as a process: waits for its startup dependencies, opens its stores and builds the app (`wire.ts`), listens,
 * and shuts down on a signal. `runApp` in `@plainpath/http` implements that sequence.
 */
import { type Finding, type Log, type ReadinessChecks, runApp } from '@plainpath/http'
import { isUnavailable, listMissingMigrations, openPool, type Pool } from '@plainpath/postgres'
import type { Config } from './config.ts'
import { createKeyStore, UnreadableKey } from './keys/key-store.ts'
import { selectInstanceKeys } from './keys/signing-key.ts'
import { isRedisUnavailable, openRedis } from './open-redis.ts'
import { MIGRATIONS } from './stores.ts'
import { openAuth } from './wire.ts'

/**
 * Runs the authorization server until SIGTERM or SIGINT. Until every startup dependency is available, only the operations
 * listener is open.
 */
export async function serveAuth(config: Config, deps: { log: Log; now: () => Date }): Promise<void> {
  await using startup = createStartupChecks(config)
  await runApp({
    ...config,
    ...deps,
    isTransient,
    startupDependencies: startup.checks,
    open: () => openAuth(config, deps),
    listeners: ({ internalApp, publicApp }) => ({
      internal: { ...config.internal, handler: internalApp.callback() },
      public: { ...config.public, handler: publicApp.callback() },
    }),
  })
}

/**
 * Creates the checks of the startup dependencies: PostgreSQL with every migration applied, a signing key that can be
 * decrypted and, if configured, a Redis with `noeviction`. The checks write nothing. Those of PostgreSQL share one
 * connection, which closes when it is idle.
 */
function createStartupChecks(config: Config): AsyncDisposable & { readonly checks: ReadinessChecks } {
  const db = openPool(config.databaseUrl, { applicationName: 'plainpath auth start', max: 1 })
  const { redisUrl } = config
  return {
    checks: {
      database: () => checkDatabase(db),
      keys: () => checkKeys(db, config),
      ...(redisUrl !== undefined && { redis: () => checkRedis(redisUrl) }),
    },
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

/** Returns true if a store was unavailable, so another try to open the server may succeed. */
const isTransient = (error: unknown) => isUnavailable(error) || isRedisUnavailable(error)

async function checkDatabase(db: Pool): Promise<Finding> {
  try {
    const missingMigrations = await listMissingMigrations(db, MIGRATIONS)
    return (
      missingMigrations.length === 0 || {
        awaited: `migrations ${missingMigrations.join(', ')}: run "auth migrate"`,
      }
    )
  } catch (error) {
    if (isUnavailable(error)) return { awaited: 'PostgreSQL' }
    const sqlState = readSqlState(error)
    return { awaited: sqlState ? `PostgreSQL (${sqlState})` : (error as Error).message }
  }
}

async function checkKeys(db: Pool, { sealer }: Config): Promise<Finding> {
  try {
    selectInstanceKeys((await createKeyStore(db, sealer).read()).keys)
    return true
  } catch (error) {
    // The database check reports any failure of PostgreSQL, so this check names none.
    if (isUnavailable(error) || readSqlState(error)) return false
    return {
      awaited:
        error instanceof UnreadableKey ? `${error.message}: see AUTH_KEK_FILE` : (error as Error).message,
    }
  }
}

async function checkRedis(url: string): Promise<Finding> {
  try {
    await using _redis = await openRedis(url, SILENT_LOG)
    return true
  } catch (error) {
    return { awaited: isRedisUnavailable(error) ? 'Redis' : `Redis: ${(error as Error).message}` }
  }
}

/** Returns the code of an error if it looks like an SQLSTATE of PostgreSQL, such as `28P01` for a wrong password. */
const readSqlState = (error: unknown) =>
  /^[0-9A-Z]{5}$/.exec(String((error as { code?: unknown } | undefined)?.code))?.[0]

const ignore = () => undefined
/** For `openRedis`: the check itself reports that Redis is unavailable. */
const SILENT_LOG: Log = { info: ignore, warn: ignore, error: ignore }

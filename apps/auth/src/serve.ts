/*
 * Runs the server as a process: waits for its startup dependencies, opens it (`wire.ts`), listens, and shuts down on a
 * signal. The sequence itself is `runApp` in `@plainpath/http`.
 */
import { type Finding, type Log, type ReadinessChecks, runApp } from '@plainpath/http'
import { isUnavailable, missingMigrations, openPool, type Pool } from '@plainpath/postgres'
import type { Config } from './config.ts'
import { postgresKeyStore, UnreadableKey } from './keys/key-store.ts'
import { instanceKeys } from './keys/signing-key.ts'
import { MIGRATIONS } from './stores.ts'
import { isRedisUnavailable, openRedis } from './tokens/open-redis.ts'
import { openAuth } from './wire.ts'

/**
 * Runs the authorization server until SIGTERM or SIGINT. Until every startup dependency is available, only the
 * operations listener is open: without the signing keys there is nothing to serve.
 */
export async function serveAuth(config: Config, deps: { log: Log; now: () => Date }): Promise<void> {
  await using startup = openStartupChecks(config)
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
 * Opens the checks of the startup dependencies: PostgreSQL with every migration applied, a signing key that can be
 * decrypted and, if configured, a Redis with `noeviction`. It creates none of them. The checks share one connection of
 * their own, which closes when idle.
 */
function openStartupChecks(config: Config): AsyncDisposable & { readonly checks: ReadinessChecks } {
  const db = openPool(config.databaseUrl, { applicationName: 'plainpath auth start', max: 1 })
  const { redisUrl } = config
  return {
    checks: {
      database: () => checkTables(db),
      keys: () => checkKeys(db, config),
      ...(redisUrl !== undefined && { redis: () => checkRedis(redisUrl) }),
    },
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

/** True when opening failed because a store is unavailable, so that trying again may succeed. */
const isTransient = (error: unknown) => isUnavailable(error) || isRedisUnavailable(error)

async function checkTables(db: Pool): Promise<Finding> {
  try {
    const missing = await missingMigrations(db, MIGRATIONS)
    return missing.length === 0 || { awaited: `migrations ${missing.join(', ')}: run "auth migrate"` }
  } catch (error) {
    if (isUnavailable(error)) return { awaited: 'PostgreSQL' }
    const state = sqlState(error)
    return { awaited: state ? `PostgreSQL (${state})` : (error as Error).message }
  }
}

async function checkKeys(db: Pool, { sealingKeys }: Config): Promise<Finding> {
  try {
    instanceKeys((await postgresKeyStore(db, sealingKeys).read()).keys)
    return true
  } catch (error) {
    // The database check reports a missing database or table.
    if (isUnavailable(error) || sqlState(error)) return false
    return {
      awaited:
        error instanceof UnreadableKey ? `${error.message}: see AUTH_KEK_FILE` : (error as Error).message,
    }
  }
}

async function checkRedis(url: string): Promise<Finding> {
  try {
    await using _redis = await openRedis(url, SILENT)
    return true
  } catch (error) {
    return { awaited: isRedisUnavailable(error) ? 'Redis' : `Redis: ${(error as Error).message}` }
  }
}

/** The SQLSTATE of an error from PostgreSQL, such as `28P01` for a wrong password. */
const sqlState = (error: unknown) =>
  /^[0-9A-Z]{5}$/.exec(String((error as { code?: unknown } | undefined)?.code))?.[0]

const quiet = () => undefined
const SILENT: Log = { info: quiet, warn: quiet, error: quiet }

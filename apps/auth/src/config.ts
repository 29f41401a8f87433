import { z } from 'zod'
import { SETTINGS } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A mistake in the settings, for whoever starts the program: all of them at once, never a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const Settings = z.strictObject(SETTINGS)

/**
 * Reads the `AUTH_*` variables, once, at start.
 *
 * @throws {ConfigError} naming every bad, missing and unknown variable
 */
export function loadConfig(env: Environment) {
  const ours = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('AUTH_')))
  const parsed = Settings.safeParse(ours)
  if (!parsed.success)
    throw new ConfigError(`bad configuration\n${parsed.error.issues.flatMap(line).join('\n')}`)
  const settings = parsed.data
  return Object.freeze({
    origin: settings.AUTH_ORIGIN,
    public: { port: settings.AUTH_PORT, host: settings.AUTH_HOST },
    internal: { port: settings.AUTH_INTERNAL_PORT, host: settings.AUTH_INTERNAL_HOST },
    operations: { port: settings.AUTH_OPERATIONS_PORT, host: settings.AUTH_OPERATIONS_HOST },
    databaseUrl: settings.AUTH_DATABASE_URL,
    migrationDatabaseUrl: settings.AUTH_MIGRATION_DATABASE_URL,
    redisUrl: settings.AUTH_REDIS_URL,
    sealingKeys: settings.AUTH_KEK_FILE,
    hashKey: settings.AUTH_HASH_KEY_FILE,
    resourceServers: settings.AUTH_RESOURCE_SERVERS_FILE,
    trustedProxies: settings.AUTH_TRUSTED_PROXIES,
    corsOrigins: settings.AUTH_CORS_ORIGINS,
    alsoAcceptHosts: settings.AUTH_ALSO_ACCEPT_HOSTS,
    limitsFactor: settings.AUTH_LIMITS_FACTOR,
    drainSeconds: settings.AUTH_DRAIN_SECONDS,
  })
}

export type Config = ReturnType<typeof loadConfig>

function line(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => `  ${name} is not a setting of this program`)
  const missing = issue.code === 'invalid_type' && issue.input === undefined
  return [`  ${issue.path.join('.')} ${missing ? 'is missing' : issue.message}`]
}

import { ConfigError, type Environment, type SettingValues, settingsReader } from '@plainpath/http/settings'
import { mailSettings, smtpMistake } from '@plainpath/mail'
import { keySettings } from './keys/key-settings.ts'
import { SETTINGS } from './settings.ts'

export { ConfigError, type Environment }

const readSettings = settingsReader({
  settings: SETTINGS,
  prefix: 'AUTH_',
  emptyIsAbsent: false,
  mistakesTogether,
})

/**
 * Reads the `AUTH_*` variables, once, at start.
 *
 * @throws {ConfigError} naming every bad, missing and unknown variable
 */
export function loadConfig(env: Environment) {
  const settings = readSettings(env)
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
    resourceServers: settings.AUTH_RESOURCE_SERVERS_FILE.content,
    resourceServersFile: settings.AUTH_RESOURCE_SERVERS_FILE.path,
    mail: mailSettings({
      origin: settings.AUTH_ORIGIN,
      smtpUrl: settings.AUTH_SMTP_URL,
      from: settings.AUTH_MAIL_FROM,
      outboxDirectory: settings.AUTH_OUTBOX_DIR,
    }),
    trustedProxies: settings.AUTH_TRUSTED_PROXIES,
    corsOrigins: settings.AUTH_CORS_ORIGINS,
    alsoAcceptHosts: settings.AUTH_ALSO_ACCEPT_HOSTS,
    limitsFactor: settings.AUTH_LIMITS_FACTOR,
    otlpUrl: settings.AUTH_OTLP_URL,
    neverUsedClients: settings.AUTH_NEVER_USED_CLIENTS,
    drainDelaySeconds: settings.AUTH_DRAIN_DELAY_SECONDS,
    drainSeconds: settings.AUTH_DRAIN_SECONDS,
    keys: keySettings(settings),
  })
}

function mistakesTogether(values: Partial<SettingValues<typeof SETTINGS>>): string[] {
  const { AUTH_KEYS_LEASE_SECONDS: lease, AUTH_KEYS_POLL_SECONDS: poll, AUTH_ORIGIN: origin } = values
  const withoutMail = origin && 'AUTH_SMTP_URL' in values && smtpMistake(origin, values.AUTH_SMTP_URL)
  return [
    ...(lease !== undefined && poll !== undefined && lease < 2 * poll
      ? ['AUTH_KEYS_LEASE_SECONDS must be at least twice AUTH_KEYS_POLL_SECONDS']
      : []),
    ...(withoutMail ? [`AUTH_SMTP_URL ${withoutMail}`] : []),
  ]
}

export type Config = ReturnType<typeof loadConfig>

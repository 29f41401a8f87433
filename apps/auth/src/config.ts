import { mailSettings, smtpMistake } from '@plainpath/mail'
import { z } from 'zod'
import { keySettings } from './keys/key-settings.ts'
import { SETTINGS } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Mistakes in the settings, for whoever starts the program: all of them at once, never a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(['bad configuration', ...mistakes.map((mistake) => `  ${mistake}`)].join('\n'))
    this.mistakes = mistakes
  }
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
  const alone = (parsed.error?.issues ?? []).flatMap(mistakesOf)
  const mistakes = [...new Set([...alone, ...mistakesTogether(ours)])]
  if (!parsed.success || mistakes.length > 0) throw new ConfigError(mistakes)
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
    resourceServers: settings.AUTH_RESOURCE_SERVERS_FILE.servers,
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

/** Of settings that are each fine by themselves. */
function mistakesTogether(env: Environment): string[] {
  const lease = SETTINGS.AUTH_KEYS_LEASE_SECONDS.safeParse(env['AUTH_KEYS_LEASE_SECONDS'])
  const poll = SETTINGS.AUTH_KEYS_POLL_SECONDS.safeParse(env['AUTH_KEYS_POLL_SECONDS'])
  const origin = SETTINGS.AUTH_ORIGIN.safeParse(env['AUTH_ORIGIN'])
  const smtpUrl = SETTINGS.AUTH_SMTP_URL.safeParse(env['AUTH_SMTP_URL'])
  const withoutMail = origin.success && smtpUrl.success && smtpMistake(origin.data, smtpUrl.data)
  return [
    ...(lease.success && poll.success && lease.data < 2 * poll.data
      ? ['AUTH_KEYS_LEASE_SECONDS must be at least twice AUTH_KEYS_POLL_SECONDS']
      : []),
    ...(withoutMail ? [`AUTH_SMTP_URL ${withoutMail}`] : []),
  ]
}

export type Config = ReturnType<typeof loadConfig>

function mistakesOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => `${name} is not a setting of this program`)
  const missing = issue.code === 'invalid_type' && issue.input === undefined
  return [`${String(issue.path[0])} ${missing ? 'is missing' : issue.message}`]
}

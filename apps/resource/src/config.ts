import { mailSettings, smtpMistake } from '@plainpath/mail'
import { isLoopback } from '@plainpath/metadata'
import type { z } from 'zod'
import { SETTINGS, type Setting } from './settings.ts'

export type SettingName = keyof typeof SETTINGS
export type Values<Name extends SettingName> = {
  readonly [N in Name]: z.output<(typeof SETTINGS)[N]['schema']>
}
export type Environment = Readonly<Record<string, string | undefined>>

/** Mistakes in the settings, for whoever starts the program: all of them at once, never a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const PREFIX = 'RESOURCE_'

/**
 * Reads the settings of the app, once, at start. An empty variable counts as absent.
 *
 * @throws {ConfigError} naming every bad, missing and unknown `RESOURCE_*` variable
 */
export function loadConfig(env: Environment) {
  const read = readSettings(env, Object.keys(SETTINGS) as SettingName[])
  return Object.freeze({
    origin: read.RESOURCE_ORIGIN,
    public: { port: read.RESOURCE_PORT, host: read.RESOURCE_HOST },
    operations: { port: read.RESOURCE_OPERATIONS_PORT, host: read.RESOURCE_OPERATIONS_HOST },
    databaseUrl: read.RESOURCE_DATABASE_URL,
    redisUrl: read.RESOURCE_REDIS_URL,
    sealingKeys: read.RESOURCE_KEK_FILE,
    hashKey: read.RESOURCE_HASH_KEY_FILE,
    authUrls: read.RESOURCE_AUTH_URL,
    clientId: read.RESOURCE_CLIENT_ID,
    clientSecret: read.RESOURCE_CLIENT_SECRET_FILE.secret,
    clientSecretFile: read.RESOURCE_CLIENT_SECRET_FILE.path,
    mail: mailSettings({
      origin: read.RESOURCE_ORIGIN,
      smtpUrl: read.RESOURCE_SMTP_URL,
      from: read.RESOURCE_MAIL_FROM,
      outboxDirectory: read.RESOURCE_OUTBOX_DIR,
    }),
    deskAddress: read.RESOURCE_DESK_ADDRESS ?? `desk@${mailHost(read.RESOURCE_ORIGIN)}`,
    trustedProxies: read.RESOURCE_TRUSTED_PROXIES,
    corsOrigins: read.RESOURCE_CORS_ORIGINS,
    alsoAcceptHosts: read.RESOURCE_ALSO_ACCEPT_HOSTS,
    limitsFactor: read.RESOURCE_LIMITS_FACTOR,
    securityContact: read.RESOURCE_SECURITY_CONTACT,
    otlpUrl: read.RESOURCE_OTLP_URL,
    drainDelaySeconds: read.RESOURCE_DRAIN_DELAY_SECONDS,
    drainSeconds: read.RESOURCE_DRAIN_SECONDS,
  })
}
/** A name that an address can end in; mail of an origin on this machine goes nowhere (RFC 2606 §2). */
const mailHost = (origin: string) => (isLoopback(origin) ? 'localhost.invalid' : new URL(origin).hostname)

export type Config = ReturnType<typeof loadConfig>

/** What `migrate` needs, so that its job holds no other secret. Without an owner's URL it connects as the app. */
export function loadMigrationConfig(env: Environment) {
  const read = readSettings(env, ['RESOURCE_MIGRATION_DATABASE_URL', 'RESOURCE_DATABASE_URL'])
  const appRole = decodeURIComponent(new URL(read.RESOURCE_DATABASE_URL).username)
  return Object.freeze({
    url: read.RESOURCE_MIGRATION_DATABASE_URL ?? read.RESOURCE_DATABASE_URL,
    ...(appRole && { appRole }),
  })
}

/**
 * Reads only these settings.
 *
 * @throws {ConfigError} naming every bad and missing one of them, and every unknown `RESOURCE_*` variable
 */
export function readSettings<Name extends SettingName>(
  env: Environment,
  names: readonly Name[],
): Values<Name> {
  const given = Object.entries(env).filter(([name, value]) => name.startsWith(PREFIX) && value)
  const mistakes = given
    .filter(([name]) => !Object.hasOwn(SETTINGS, name))
    .map(([name]) => `${name} is not a setting`)
  const values = new Map<string, unknown>()
  for (const name of names) {
    const { schema, ...setting }: Setting = SETTINGS[name]
    const written = env[name] || setting.default
    const parsed = schema.safeParse(written)
    if (parsed.success) values.set(name, parsed.data)
    else if (written === undefined) mistakes.push(`${name} is missing`)
    else mistakes.push(...parsed.error.issues.map((issue) => `${name} ${issue.message}`))
  }
  const { RESOURCE_ORIGIN: origin, RESOURCE_SMTP_URL: smtpUrl } = Object.fromEntries(values) as Partial<
    Values<SettingName>
  >
  const withoutMail = origin && values.has('RESOURCE_SMTP_URL') && smtpMistake(origin, smtpUrl)
  if (withoutMail) mistakes.push(`RESOURCE_SMTP_URL ${withoutMail}`)
  if (mistakes.length > 0) throw new ConfigError(['bad configuration', ...mistakes].join('\n  '))
  return Object.fromEntries(values) as Values<Name>
}

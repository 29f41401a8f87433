import { MINUTE_MS } from '@plainpath/domain'
import { ConfigError, type Environment, type SettingValues, settingsReader } from '@plainpath/http/settings'
import { findSmtpMistake, mailSettings } from '@plainpath/mail'
import { isLoopback } from '@plainpath/metadata'
import { SETTINGS } from './settings.ts'

export { ConfigError, type Environment }

export const readSettings = settingsReader({
  settings: SETTINGS,
  prefix: 'RESOURCE_',
  emptyIsAbsent: true,
  mistakesTogether,
})

/**
 * Reads the settings of the app, once, at start. An empty variable counts as absent.
 *
 * @throws {ConfigError} naming every bad, missing and unknown `RESOURCE_*` variable
 */
export function loadConfig(env: Environment) {
  const read = readSettings(env)
  return Object.freeze({
    origin: read.RESOURCE_ORIGIN,
    mcpPublicOrigin: read.RESOURCE_MCP_PUBLIC_ORIGIN,
    public: { port: read.RESOURCE_PORT, host: read.RESOURCE_HOST },
    operations: { port: read.RESOURCE_OPERATIONS_PORT, host: read.RESOURCE_OPERATIONS_HOST },
    databaseUrl: read.RESOURCE_DATABASE_URL,
    redisUrl: read.RESOURCE_REDIS_URL,
    sealingKeys: read.RESOURCE_KEK_FILE,
    hashKey: read.RESOURCE_HASH_KEY_FILE,
    authUrls: read.RESOURCE_AUTH_URL,
    clientId: read.RESOURCE_CLIENT_ID,
    clientSecret: read.RESOURCE_CLIENT_SECRET_FILE.content,
    clientSecretFile: read.RESOURCE_CLIENT_SECRET_FILE.path,
    mail: mailSettings({
      origin: read.RESOURCE_ORIGIN,
      smtpUrl: read.RESOURCE_SMTP_URL,
      from: read.RESOURCE_MAIL_FROM,
      outboxDirectory: read.RESOURCE_OUTBOX_DIR,
    }),
    staffInbox: read.RESOURCE_DESK_ADDRESS ?? `desk@${mailHost(read.RESOURCE_ORIGIN)}`,
    contactHoldMs: read.RESOURCE_CONTACT_HOLD * MINUTE_MS,
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

/** Returns the domain for our own addresses. For an origin on this machine it is one that never resolves (RFC 2606 §2). */
const mailHost = (origin: string) => (isLoopback(origin) ? 'localhost.invalid' : new URL(origin).hostname)

export type Config = ReturnType<typeof loadConfig>

/**
 * Reads only the settings that `migrate` needs, so that its job holds no other secret. Without the URL of the owner it connects
 * as the role of the app.
 */
export function loadMigrationConfig(env: Environment) {
  const read = readSettings(env, ['RESOURCE_MIGRATION_DATABASE_URL', 'RESOURCE_DATABASE_URL'])
  const appRole = decodeURIComponent(new URL(read.RESOURCE_DATABASE_URL).username)
  return Object.freeze({
    url: read.RESOURCE_MIGRATION_DATABASE_URL ?? read.RESOURCE_DATABASE_URL,
    ...(appRole && { appRole }),
  })
}

export type SettingName = keyof typeof SETTINGS
export type Values<Name extends SettingName> = Pick<SettingValues<typeof SETTINGS>, Name>

function mistakesTogether(values: Partial<SettingValues<typeof SETTINGS>>): string[] {
  const { RESOURCE_ORIGIN: origin, RESOURCE_SMTP_URL: smtpUrl } = values
  const { RESOURCE_MCP_PUBLIC_ORIGIN: mcpPublicOrigin, RESOURCE_ALSO_ACCEPT_HOSTS: hosts = [] } = values
  const withoutMail = origin && 'RESOURCE_SMTP_URL' in values && findSmtpMistake(origin, smtpUrl)
  const sameHost = origin && mcpPublicOrigin && findHostMistake(origin, mcpPublicOrigin, hosts)
  return [
    ...(withoutMail ? [`RESOURCE_SMTP_URL ${withoutMail}`] : []),
    ...(sameHost ? [`RESOURCE_MCP_PUBLIC_ORIGIN ${sameHost}`] : []),
  ]
}

/** Requests for the public MCP server are recognised by their Host alone. */
function findHostMistake(origin: string, mcpPublicOrigin: string, alsoAccepted: readonly string[]) {
  const [main, other] = [new URL(origin), new URL(mcpPublicOrigin)]
  if (main.protocol !== other.protocol) return 'must begin with the same scheme as RESOURCE_ORIGIN'
  return [main.host, ...alsoAccepted].includes(other.host)
    ? 'must have another host or port than RESOURCE_ORIGIN and RESOURCE_ALSO_ACCEPT_HOSTS'
    : undefined
}

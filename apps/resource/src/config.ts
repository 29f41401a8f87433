import { MINUTE_MS } from '@plainpath/domain'
import type { TrustedProxies } from '@plainpath/http'
import {
  ConfigError,
  createSettingsReader,
  type Environment,
  type SettingValues,
} from '@plainpath/http/settings'
import { addDefaultSender, describeMissingSmtpServer, type MailSettings } from '@plainpath/mail'
import { isLoopbackOrigin } from '@plainpath/metadata'
import type { HashKey, Sealer } from '@plainpath/sealing'
import { SETTINGS } from './settings.ts'

export { ConfigError, type Environment }

export const readSettings = createSettingsReader({
  settings: SETTINGS,
  prefix: 'RESOURCE_',
  findCombinedMistakes,
})

/** The parsed settings. `settings.ts` describes each. */
export interface Config {
  readonly origin: string
  readonly mcpPublicOrigin: string | undefined
  readonly public: ListenerAddress
  readonly operations: ListenerAddress
  readonly databaseUrl: string
  /** The database URL for notifications. If `databaseUrl` goes through a pooler, this URL bypasses it. */
  readonly sessionDatabaseUrl: string
  /** Whether `databaseUrl` goes through a pooler. Inferred: RESOURCE_SESSION_DATABASE_URL is set only in that case. */
  readonly isDatabasePooled: boolean
  readonly redisUrl: string | undefined
  readonly sealer: Sealer
  readonly hashKey: HashKey
  readonly authUrls: readonly string[]
  readonly clientId: string
  readonly clientSecret: string
  readonly clientSecretFile: string
  readonly mail: MailSettings
  /** The address of the mailbox of staff. */
  readonly staffInbox: string
  /** The time for which a message can be withdrawn before it is sent to staff. */
  readonly contactHoldMs: number
  readonly trustedProxies: TrustedProxies
  readonly corsOrigins: readonly string[]
  readonly additionalHosts: readonly string[]
  readonly limitsFactor: number
  readonly securityContact: string | undefined
  readonly otlpUrl: string | undefined
  readonly drainDelaySeconds: number
  readonly drainSeconds: number
}

interface ListenerAddress {
  readonly port: number
  readonly host: string
}

/**
 * Reads the app's settings. An empty variable counts as absent.
 *
 * @throws {ConfigError} that names every invalid, missing and unknown `RESOURCE_*` variable
 */
export function loadConfig(env: Environment): Config {
  const settings = readSettings(env)
  return Object.freeze({
    origin: settings.RESOURCE_ORIGIN,
    mcpPublicOrigin: settings.RESOURCE_MCP_PUBLIC_ORIGIN,
    public: { port: settings.RESOURCE_PORT, host: settings.RESOURCE_HOST },
    operations: { port: settings.RESOURCE_OPERATIONS_PORT, host: settings.RESOURCE_OPERATIONS_HOST },
    databaseUrl: settings.RESOURCE_DATABASE_URL,
    sessionDatabaseUrl: settings.RESOURCE_SESSION_DATABASE_URL ?? settings.RESOURCE_DATABASE_URL,
    isDatabasePooled: settings.RESOURCE_SESSION_DATABASE_URL !== undefined,
    redisUrl: settings.RESOURCE_REDIS_URL,
    sealer: settings.RESOURCE_KEK_FILE,
    hashKey: settings.RESOURCE_HASH_KEY_FILE,
    authUrls: settings.RESOURCE_AUTH_URL,
    clientId: settings.RESOURCE_CLIENT_ID,
    clientSecret: settings.RESOURCE_CLIENT_SECRET_FILE.content,
    clientSecretFile: settings.RESOURCE_CLIENT_SECRET_FILE.path,
    mail: addDefaultSender({
      origin: settings.RESOURCE_ORIGIN,
      smtpUrl: settings.RESOURCE_SMTP_URL,
      from: settings.RESOURCE_MAIL_FROM,
      outboxDirectory: settings.RESOURCE_OUTBOX_DIR,
    }),
    staffInbox: settings.RESOURCE_DESK_ADDRESS ?? `desk@${getMailDomain(settings.RESOURCE_ORIGIN)}`,
    contactHoldMs: settings.RESOURCE_CONTACT_HOLD * MINUTE_MS,
    trustedProxies: settings.RESOURCE_TRUSTED_PROXIES,
    corsOrigins: settings.RESOURCE_CORS_ORIGINS,
    additionalHosts: settings.RESOURCE_ALSO_ACCEPT_HOSTS,
    limitsFactor: settings.RESOURCE_LIMITS_FACTOR,
    securityContact: settings.RESOURCE_SECURITY_CONTACT,
    otlpUrl: settings.RESOURCE_OTLP_URL,
    drainDelaySeconds: settings.RESOURCE_DRAIN_DELAY_SECONDS,
    drainSeconds: settings.RESOURCE_DRAIN_SECONDS,
  })
}

/** Returns the domain of our own e-mail addresses. For an origin on this machine, the domain never resolves (RFC 2606 §2). */
const getMailDomain = (origin: string) =>
  isLoopbackOrigin(origin) ? 'localhost.invalid' : new URL(origin).hostname

/**
 * Reads only the settings that `migrate` needs, because the Kubernetes Job that runs it has no other secrets. Without
 * RESOURCE_MIGRATION_DATABASE_URL, `migrate` connects as the app's role.
 */
export function loadMigrationConfig(env: Environment) {
  const settings = readSettings(env, ['RESOURCE_MIGRATION_DATABASE_URL', 'RESOURCE_DATABASE_URL'])
  const appRole = decodeURIComponent(new URL(settings.RESOURCE_DATABASE_URL).username)
  return Object.freeze({
    url: settings.RESOURCE_MIGRATION_DATABASE_URL ?? settings.RESOURCE_DATABASE_URL,
    ...(appRole && { appRole }),
  })
}

export type SettingName = keyof typeof SETTINGS
export type SelectedSettings<Name extends SettingName> = Pick<SettingValues<typeof SETTINGS>, Name>

/** Finds mistakes in combinations of settings. `values` lacks the settings that are invalid or were not requested. */
function findCombinedMistakes(values: Partial<SettingValues<typeof SETTINGS>>): string[] {
  const { RESOURCE_ORIGIN: origin, RESOURCE_SMTP_URL: smtpUrl } = values
  const { RESOURCE_MCP_PUBLIC_ORIGIN: mcpPublicOrigin, RESOURCE_ALSO_ACCEPT_HOSTS: hosts = [] } = values
  const smtpMistake = origin && 'RESOURCE_SMTP_URL' in values && describeMissingSmtpServer(origin, smtpUrl)
  const hostMistake = origin && mcpPublicOrigin && findHostMistake(origin, mcpPublicOrigin, hosts)
  return [
    ...(smtpMistake ? [`RESOURCE_SMTP_URL ${smtpMistake}`] : []),
    ...(hostMistake ? [`RESOURCE_MCP_PUBLIC_ORIGIN ${hostMistake}`] : []),
  ]
}

/**
 * Describes the mistake if the two origins differ in scheme or accept the same host. They must not share a host, because only the
 * header `Host` distinguishes requests for the public MCP server from other requests.
 */
function findHostMistake(origin: string, mcpPublicOrigin: string, additionalHosts: readonly string[]) {
  const mainUrl = new URL(origin)
  const mcpUrl = new URL(mcpPublicOrigin)
  if (mainUrl.protocol !== mcpUrl.protocol) return 'must begin with the same scheme as RESOURCE_ORIGIN'
  return [mainUrl.host, ...additionalHosts].includes(mcpUrl.host)
    ? 'must have another host or port than RESOURCE_ORIGIN and RESOURCE_ALSO_ACCEPT_HOSTS'
    : undefined
}

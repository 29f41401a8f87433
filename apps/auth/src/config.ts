/*
 * The settings of the authorization server: every `AUTH_*` variable with its schema, description and default. Only this
 * module parses them. It includes the settings of the signing keys, which `keys/key-settings.ts` declares.
 */
import type { TrustedProxies } from '@plainpath/http'
import {
  baseUrl,
  createSettingsReader,
  type Environment,
  hostAndPort,
  hostHeader,
  listOf,
  nonEmptyText,
  numberBetween,
  parsedFile,
  parsedFileAndPath,
  port,
  positiveNumber,
  postgresUrl,
  redisUrl,
  type Setting,
  type SettingValues,
  trustedProxies,
  wholeNumberBetween,
} from '@plainpath/http/settings'
import { addDefaultSender, describeMissingSmtpServer, MailFrom, SmtpUrl } from '@plainpath/mail'
import { isLoopbackOrigin, Origin } from '@plainpath/metadata'
import { createSealer, type HashKey, parseHashKey, type Sealer } from '@plainpath/sealing'
import { type ChatHosts, DEFAULT_CHAT_HOSTS, parseChatHosts } from './app-clients/chat-hosts.ts'
import { KEY_SETTINGS, type KeySettings, toKeySettings } from './keys/key-settings.ts'
import type { ResourceServer } from './resource-servers/resource-servers.ts'
import { parseResourceServers } from './resource-servers/resource-servers-file.ts'

/** All settings of the authorization server. A test compares them with the table in `apps/auth/README.md`. */
export const SETTINGS = {
  AUTH_ORIGIN: {
    schema: Origin,
    description:
      'Site root and OAuth issuer, such as `https://plainpath.example`. Requests for another Host are refused, unless AUTH_ALSO_ACCEPT_HOSTS lists it.',
  },
  AUTH_PORT: { schema: port, description: 'Port of the public listener.', default: '8081' },
  AUTH_HOST: { schema: nonEmptyText, description: 'Address of the public listener.', default: '0.0.0.0' },
  AUTH_INTERNAL_PORT: {
    schema: port,
    description: 'Port of the internal listener (introspection, JWKS).',
    default: '8091',
  },
  AUTH_INTERNAL_HOST: {
    schema: nonEmptyText,
    description: 'Address of the internal listener. It must not be reachable from the internet.',
    default: '127.0.0.1',
  },
  AUTH_OPERATIONS_PORT: {
    schema: port,
    description: 'Port of `/live`, `/ready` and `/metrics`.',
    default: '9081',
  },
  AUTH_OPERATIONS_HOST: {
    schema: nonEmptyText,
    description: 'Address of the operations listener.',
    default: '127.0.0.1',
  },
  AUTH_DATABASE_URL: {
    schema: postgresUrl,
    description:
      "URL of the PostgreSQL database of this app, as the app's role, which cannot alter the schema.",
    secret: true,
  },
  AUTH_SESSION_DATABASE_URL: {
    schema: postgresUrl.optional(),
    description:
      'URL of the same database and role without a pooler, for notifications and session locks. Set it if AUTH_DATABASE_URL connects through a pooler in transaction mode.',
    secret: true,
  },
  AUTH_MIGRATION_DATABASE_URL: {
    schema: postgresUrl.optional(),
    description:
      'URL of the same database, as the role that owns the tables. Only `migrate`, `backup` and `restore` use it.',
    secret: true,
  },
  AUTH_REDIS_URL: {
    schema: redisUrl.optional(),
    description:
      'URL of the Redis server that stores tokens and rate limits. Without it, tokens are stored in PostgreSQL, and rate limits in memory.',
    secret: true,
  },
  AUTH_KEK_FILE: {
    schema: parsedFile(createSealer),
    description: 'File with the key-encryption keys, newest first, one `kek-<id>:<key>` per line.',
  },
  AUTH_HASH_KEY_FILE: {
    schema: parsedFile(parseHashKey),
    description:
      'File with the key (HMAC) under which addresses, secrets and codes are hashed, one line `hash-<id>:<key>`.',
  },
  AUTH_RESOURCE_SERVERS_FILE: {
    schema: parsedFileAndPath(parseResourceServers),
    description:
      'JSON file that lists the resource servers that may introspect tokens. It is re-read every second.',
  },
  AUTH_CHAT_HOSTS_FILE: {
    schema: parsedFile(parseChatHosts).optional(),
    description:
      'JSON file that lists the chat apps and IDEs from which people can connect. It is read at startup. By default, `apps/auth/chat-hosts.json`.',
  },
  AUTH_SMTP_URL: {
    schema: SmtpUrl.optional(),
    description:
      'Mail server, `smtp://user:password@host:587` (STARTTLS) or `smtps://…`. Required if AUTH_ORIGIN is an `https` URL.',
    secret: true,
  },
  AUTH_MAIL_FROM: {
    schema: MailFrom.optional(),
    description: 'Sender address of outgoing mail. By default, `no-reply@` and the host of AUTH_ORIGIN.',
  },
  AUTH_OUTBOX_DIR: {
    schema: nonEmptyText,
    description:
      'Directory for outgoing mail if AUTH_SMTP_URL is not set. Each mail is stored there as a file for a day.',
    default: '.data/outbox',
  },
  AUTH_TRUSTED_PROXIES: {
    schema: trustedProxies,
    description:
      'Addresses and networks of proxies whose `X-Forwarded-For` and `traceparent` are trusted, separated by commas.',
    default: '',
  },
  AUTH_CORS_ORIGINS: {
    schema: listOf(Origin),
    description: 'Origins whose scripts may send requests other than GET and HEAD, separated by commas.',
    default: '',
  },
  AUTH_ALSO_ACCEPT_HOSTS: {
    schema: listOf(hostHeader),
    description:
      'Additional values of the `Host` header that are accepted, such as `127.0.0.1:8080`, separated by commas. Documents still name AUTH_ORIGIN.',
    default: '',
  },
  AUTH_CLIENT_DOCUMENT_TEST_HOSTS: {
    schema: listOf(hostAndPort),
    description:
      'For tests: `host:port` of TLS servers on 127.0.0.1 from which client documents are fetched, separated by commas. Allowed only if the host of AUTH_ORIGIN is `localhost`, `127.0.0.1` or `[::1]`.',
    default: '',
  },
  AUTH_LIMITS_FACTOR: {
    schema: positiveNumber(1_000_000),
    description: 'Multiplies every rate limit, every cap on mails sent, and the limits on queued mails.',
    default: '1',
  },
  AUTH_OTLP_URL: {
    schema: baseUrl.optional(),
    description:
      'URL of the trace collector (OTLP over HTTP), such as `http://collector:4318`. Without it, no traces are sent.',
  },
  AUTH_NEVER_USED_CLIENTS: {
    schema: wholeNumberBetween(1, 10_000_000),
    description:
      'Maximum number of registered clients that never got a token. If there are more, the oldest expire, except those registered within the last hour. The same limit applies separately to apps that nobody has used.',
    default: '100000',
  },
  AUTH_DRAIN_DELAY_SECONDS: {
    schema: numberBetween(0, 99),
    description:
      'How long the app still accepts requests after SIGTERM, while `/ready` fails, so that load balancers stop sending them.',
    default: '5',
  },
  AUTH_DRAIN_SECONDS: {
    schema: positiveNumber(600),
    description: 'How long in-flight requests may still run once the drain delay is over.',
    default: '20',
  },
  ...KEY_SETTINGS,
} as const satisfies Record<string, Setting>

/** The validated settings. */
export interface Config {
  /** The site root, which is also the OAuth issuer. */
  readonly origin: string
  readonly public: ListenerAddress
  readonly internal: ListenerAddress
  readonly operations: ListenerAddress
  readonly databaseUrl: string
  /** The same database without a pooler. */
  readonly sessionDatabaseUrl: string
  /** Whether `databaseUrl` goes through a pooler. True if AUTH_SESSION_DATABASE_URL is set. */
  readonly isDatabasePooled: boolean
  readonly migrationDatabaseUrl: string | undefined
  readonly redisUrl: string | undefined
  readonly sealer: Sealer
  readonly hashKey: HashKey
  /** The content of `resourceServersFile` at startup. */
  readonly resourceServers: readonly ResourceServer[]
  readonly resourceServersFile: string
  readonly chatHosts: ChatHosts
  readonly mail: {
    readonly smtpUrl: string | undefined
    readonly from: string
    readonly outboxDirectory: string
  }
  readonly trustedProxies: TrustedProxies
  readonly corsOrigins: readonly string[]
  readonly additionalHosts: readonly string[]
  readonly clientDocumentTestHosts: readonly string[]
  readonly limitsFactor: number
  readonly otlpUrl: string | undefined
  /** The maximum number of registered clients that never got a token, and the maximum number of unused apps. */
  readonly maxNeverUsedClients: number
  readonly drainDelaySeconds: number
  readonly drainSeconds: number
  readonly keys: KeySettings
}

interface ListenerAddress {
  readonly port: number
  readonly host: string
}

const readSettings = createSettingsReader({
  settings: SETTINGS,
  prefix: 'AUTH_',
  findCombinedMistakes,
})

/**
 * Reads the settings from the `AUTH_*` variables.
 *
 * @throws {ConfigError} whose message names every invalid, missing and unknown variable, but no value
 */
export function loadConfig(env: Environment): Config {
  const settings = readSettings(env)
  return Object.freeze({
    origin: settings.AUTH_ORIGIN,
    public: { port: settings.AUTH_PORT, host: settings.AUTH_HOST },
    internal: { port: settings.AUTH_INTERNAL_PORT, host: settings.AUTH_INTERNAL_HOST },
    operations: { port: settings.AUTH_OPERATIONS_PORT, host: settings.AUTH_OPERATIONS_HOST },
    databaseUrl: settings.AUTH_DATABASE_URL,
    sessionDatabaseUrl: settings.AUTH_SESSION_DATABASE_URL ?? settings.AUTH_DATABASE_URL,
    isDatabasePooled: settings.AUTH_SESSION_DATABASE_URL !== undefined,
    migrationDatabaseUrl: settings.AUTH_MIGRATION_DATABASE_URL,
    redisUrl: settings.AUTH_REDIS_URL,
    sealer: settings.AUTH_KEK_FILE,
    hashKey: settings.AUTH_HASH_KEY_FILE,
    resourceServers: settings.AUTH_RESOURCE_SERVERS_FILE.content,
    resourceServersFile: settings.AUTH_RESOURCE_SERVERS_FILE.path,
    chatHosts: settings.AUTH_CHAT_HOSTS_FILE ?? DEFAULT_CHAT_HOSTS,
    mail: addDefaultSender({
      origin: settings.AUTH_ORIGIN,
      smtpUrl: settings.AUTH_SMTP_URL,
      from: settings.AUTH_MAIL_FROM,
      outboxDirectory: settings.AUTH_OUTBOX_DIR,
    }),
    trustedProxies: settings.AUTH_TRUSTED_PROXIES,
    corsOrigins: settings.AUTH_CORS_ORIGINS,
    additionalHosts: settings.AUTH_ALSO_ACCEPT_HOSTS,
    clientDocumentTestHosts: settings.AUTH_CLIENT_DOCUMENT_TEST_HOSTS,
    limitsFactor: settings.AUTH_LIMITS_FACTOR,
    otlpUrl: settings.AUTH_OTLP_URL,
    maxNeverUsedClients: settings.AUTH_NEVER_USED_CLIENTS,
    drainDelaySeconds: settings.AUTH_DRAIN_DELAY_SECONDS,
    drainSeconds: settings.AUTH_DRAIN_SECONDS,
    keys: toKeySettings(settings),
  })
}

/** Finds settings that are valid alone, but not together. `values` lacks the settings that are invalid alone. */
function findCombinedMistakes(values: Partial<SettingValues<typeof SETTINGS>>): string[] {
  // The parsed values of the two durations are in milliseconds.
  const { AUTH_KEYS_LEASE_SECONDS: leaseMs, AUTH_KEYS_POLL_SECONDS: pollMs, AUTH_ORIGIN: origin } = values
  const mistakes: string[] = []
  // A shorter lease would expire after a single failed poll.
  if (leaseMs !== undefined && pollMs !== undefined && leaseMs < 2 * pollMs)
    mistakes.push('AUTH_KEYS_LEASE_SECONDS must be at least twice AUTH_KEYS_POLL_SECONDS')
  if (origin && !isLoopbackOrigin(origin) && values.AUTH_CLIENT_DOCUMENT_TEST_HOSTS?.length)
    mistakes.push('AUTH_CLIENT_DOCUMENT_TEST_HOSTS may be set only if AUTH_ORIGIN is on loopback')
  // The variable is absent from `values` if it is invalid, and undefined if it is not set. An invalid one is already reported.
  const smtpMistake =
    origin && 'AUTH_SMTP_URL' in values && describeMissingSmtpServer(origin, values.AUTH_SMTP_URL)
  if (smtpMistake) mistakes.push(`AUTH_SMTP_URL ${smtpMistake}`)
  return mistakes
}

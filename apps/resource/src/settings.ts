import { EmailAddress } from '@plainpath/domain'
import {
  baseUrl,
  file,
  fileAndPath,
  hostHeader,
  list,
  port,
  positive,
  postgresUrl,
  redisUrl,
  type Setting,
  text,
  trustedProxies,
  wholeNumber,
} from '@plainpath/http/settings'
import { MailFrom, SmtpUrl } from '@plainpath/mail'
import { Origin } from '@plainpath/metadata'
import { parseHashKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { z } from 'zod'

/**
 * Parses the content of the API credential file.
 *
 * @throws {Error} with a message that follows the setting's name
 */
export function parseClientSecret(content: string): string {
  const secret = content.trim()
  if (!/^[\x21-\x7E]{16,200}$/.test(secret))
    throw new Error('must name a file with one line of 16 to 200 printable characters')
  return secret
}

const WebOrigin = z
  .string()
  .refine((value) => URL.parse(value)?.origin === value, 'must be origins such as https://app.example.org')
const ReportContact = z
  .string()
  .refine(
    (value) => /^(https|mailto):$/.test(URL.parse(value)?.protocol ?? ''),
    'must be a URL that begins with https:// or mailto:',
  )

/** Every setting of this app. The app reads no other environment variables. */
export const SETTINGS = {
  RESOURCE_ORIGIN: {
    schema: Origin,
    description:
      'The site root and OAuth issuer, such as `https://plainpath.example`. Requests for another Host are refused.',
  },
  RESOURCE_MCP_PUBLIC_ORIGIN: {
    schema: Origin.optional(),
    description:
      'Origin of the MCP server that never asks for a sign-in, such as `https://mcp.plainpath.example`: another host or port than RESOURCE_ORIGIN, whose requests reach the same listener. Without it there is none.',
  },
  RESOURCE_PORT: { schema: port, description: 'Port of the public listener.', default: '8082' },
  RESOURCE_HOST: { schema: text, description: 'Address the public listener binds.', default: '0.0.0.0' },
  RESOURCE_OPERATIONS_PORT: {
    schema: port,
    description: 'Port of `/live`, `/ready` and `/metrics`.',
    default: '9082',
  },
  RESOURCE_OPERATIONS_HOST: {
    schema: text,
    description: 'Address the operations listener binds.',
    default: '127.0.0.1',
  },
  RESOURCE_DATABASE_URL: {
    schema: postgresUrl,
    description: 'PostgreSQL of this app, as the role that may not change tables.',
    secret: true,
  },
  RESOURCE_SESSION_DATABASE_URL: {
    schema: postgresUrl.optional(),
    description:
      'The same database and role without a pooler, for notifications; set it when RESOURCE_DATABASE_URL leads through a pooler in transaction mode.',
    secret: true,
  },
  RESOURCE_MIGRATION_DATABASE_URL: {
    schema: postgresUrl.optional(),
    description: 'The same database as the owner of its tables; for `migrate`, `backup` and `restore` only.',
    secret: true,
  },
  RESOURCE_REDIS_URL: {
    schema: redisUrl.optional(),
    description:
      'The Redis of the authorization server. All processes count requests in it, record used DPoP proofs, and receive revocations. Without it, each process counts by itself and introspects each token.',
    secret: true,
  },
  RESOURCE_KEK_FILE: {
    schema: file(parseKeyEncryptionKeys),
    description: 'File of key-encryption keys, newest first, one `kek-<id>:<key>` per line.',
  },
  RESOURCE_HASH_KEY_FILE: {
    schema: file(parseHashKey),
    description: 'File with the hash key, one line `hash-<id>:<key>`.',
  },
  RESOURCE_AUTH_URL: {
    schema: list(baseUrl).refine((urls) => urls.length > 0, 'must name a listener'),
    description:
      'Internal listener of the authorization server, such as `http://auth:8091`; requests are spread over several, separated by commas, and go to the others when one is unavailable.',
  },
  RESOURCE_CLIENT_ID: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be 1 to 100 letters, digits, dots, underscores or hyphens'),
    description: 'The client_id of this API at the introspection endpoint.',
  },
  RESOURCE_CLIENT_SECRET_FILE: {
    schema: fileAndPath(parseClientSecret),
    description: 'File with that client’s secret; read every second, and again when the secret is refused.',
  },
  RESOURCE_SMTP_URL: {
    schema: SmtpUrl.optional(),
    description:
      'Mail server, `smtp://user:password@host:587` (STARTTLS) or `smtps://…`. An `https` RESOURCE_ORIGIN needs one.',
    secret: true,
  },
  RESOURCE_MAIL_FROM: {
    schema: MailFrom.optional(),
    description: 'Address that mail comes from. Without it: `no-reply@` the host of RESOURCE_ORIGIN.',
  },
  RESOURCE_OUTBOX_DIR: {
    schema: text,
    description: 'Directory for mail without RESOURCE_SMTP_URL, as files that are kept for a day.',
    default: '.data/outbox',
  },
  RESOURCE_DESK_ADDRESS: {
    schema: EmailAddress.optional(),
    description:
      'Mailbox of the people who answer messages. Without it: `desk@` the host of RESOURCE_ORIGIN.',
  },
  RESOURCE_CONTACT_HOLD: {
    schema: wholeNumber(0, 60),
    description:
      'How many minutes a message waits before it goes to that mailbox; until then it can be withdrawn. One with an urgent hand-off trigger waits a minute at most.',
    default: '10',
  },
  RESOURCE_TRUSTED_PROXIES: {
    schema: trustedProxies,
    description:
      'Addresses and networks of proxies whose `X-Forwarded-For` and `traceparent` are trusted, separated by commas.',
    default: '',
  },
  RESOURCE_CORS_ORIGINS: {
    schema: list(WebOrigin),
    description: 'Origins whose scripts may POST, separated by commas.',
    default: '',
  },
  RESOURCE_ALSO_ACCEPT_HOSTS: {
    schema: list(hostHeader),
    description:
      'Further values of Host that are accepted, separated by commas. Documents still name RESOURCE_ORIGIN.',
    default: '',
  },
  RESOURCE_SECURITY_CONTACT: {
    schema: ReportContact.optional(),
    description:
      'Where `/.well-known/security.txt` sends reports, such as `mailto:security@plainpath.example`. Without it: `security@` the host of RESOURCE_ORIGIN.',
  },
  RESOURCE_LIMITS_FACTOR: {
    schema: positive(1_000_000),
    description: 'Multiplies every request limit.',
    default: '1',
  },
  RESOURCE_OTLP_URL: {
    schema: baseUrl.optional(),
    description:
      'Collector of traces, OTLP over HTTP, such as `http://collector:4318`. Without it there are none.',
  },
  RESOURCE_DRAIN_DELAY_SECONDS: {
    schema: wholeNumber(0, 99),
    description:
      'How long the app accepts requests after SIGTERM while `/ready` fails, so that load balancers stop sending them.',
    default: '5',
  },
  RESOURCE_DRAIN_SECONDS: {
    schema: wholeNumber(0, 300),
    description: 'How long requests in flight may take after that.',
    default: '20',
  },
} as const satisfies Record<string, Setting>

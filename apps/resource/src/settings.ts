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

/** Parses the file of the API credential. @throws {Error} with a text that continues the name of the setting */
export function parseClientSecret(content: string): string {
  const secret = content.trim()
  if (!/^[\x21-\x7E]{16,200}$/.test(secret))
    throw new Error('must name a file with one line of 16 to 200 printable characters')
  return secret
}

const webOrigin = z
  .string()
  .refine(
    (written) => URL.parse(written)?.origin === written,
    'must be origins such as https://app.example.org',
  )
const contact = z
  .string()
  .refine(
    (written) => /^(https|mailto):$/.test(URL.parse(written)?.protocol ?? ''),
    'must be a URL that begins with https:// or mailto:',
  )

/** Every setting of this app. Nothing else reads the environment. */
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
    description: 'PostgreSQL of this app, as the lesser role.',
    secret: true,
  },
  RESOURCE_MIGRATION_DATABASE_URL: {
    schema: postgresUrl.optional(),
    description: 'The same database as the role that owns the tables; only `migrate` uses it.',
    secret: true,
  },
  RESOURCE_REDIS_URL: {
    schema: redisUrl.optional(),
    description:
      'Redis that counts requests for all processes, remembers the proofs that were used, and notifies them of revocations: the one of auth. Without it each process counts for itself, and introspects each token.',
    secret: true,
  },
  RESOURCE_KEK_FILE: {
    schema: file(parseKeyEncryptionKeys),
    description: 'File of key-encryption keys, newest first, one `kek-<id>:<key>` a line.',
  },
  RESOURCE_HASH_KEY_FILE: {
    schema: file(parseHashKey),
    description: 'File with the hash key, one line `hash-<id>:<key>`.',
  },
  RESOURCE_AUTH_URL: {
    schema: list(baseUrl).refine((urls) => urls.length > 0, 'must name a listener'),
    description:
      'Internal listener of the authorization server, such as `http://auth:8091`; several, separated by commas, share the requests, and those of one that is away.',
  },
  RESOURCE_CLIENT_ID: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be 1 to 100 letters, digits, dots, underscores or hyphens'),
    description: 'Who this API is at the introspection endpoint.',
  },
  RESOURCE_CLIENT_SECRET_FILE: {
    schema: fileAndPath(parseClientSecret),
    description: 'File with the secret of that client; read again every second, and when it is refused.',
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
    description: 'Directory where mail becomes files for a day, without RESOURCE_SMTP_URL.',
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
      'Addresses and networks of proxies whose `X-Forwarded-For` and `traceparent` are believed, separated by commas.',
    default: '',
  },
  RESOURCE_CORS_ORIGINS: {
    schema: list(webOrigin),
    description: 'Origins whose scripts may POST, separated by commas.',
    default: '',
  },
  RESOURCE_ALSO_ACCEPT_HOSTS: {
    schema: list(hostHeader),
    description:
      'Further Host values to answer for, separated by commas. Documents still name RESOURCE_ORIGIN.',
    default: '',
  },
  RESOURCE_SECURITY_CONTACT: {
    schema: contact.optional(),
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

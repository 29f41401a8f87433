import { EmailAddress } from '@plainpath/domain'
import {
  baseUrl,
  hostHeader,
  listOf,
  nonEmptyText,
  parsedFile,
  parsedFileAndPath,
  port,
  positiveNumber,
  postgresUrl,
  redisUrl,
  type Setting,
  trustedProxies,
  wholeNumberBetween,
} from '@plainpath/http/settings'
import { MailFrom, SmtpUrl } from '@plainpath/mail'
import { Origin } from '@plainpath/metadata'
import { createSealer, parseHashKey } from '@plainpath/sealing'
import { z } from 'zod'

/**
 * Parses the content of RESOURCE_CLIENT_SECRET_FILE.
 *
 * @throws {Error} whose message continues a sentence that begins with the name of the setting
 */
export function parseClientSecret(content: string): string {
  const secret = content.trim()
  if (!/^[\x21-\x7E]{16,200}$/.test(secret))
    throw new Error('must name a file with one line of 16 to 200 printable ASCII characters, without spaces')
  return secret
}

const WebOrigin = z
  .string()
  .refine((value) => URL.parse(value)?.origin === value, 'must be an origin such as https://app.example.org')
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
      'Site root and OAuth issuer, such as `https://plainpath.example`. Requests for another Host are refused, unless RESOURCE_MCP_PUBLIC_ORIGIN or RESOURCE_ALSO_ACCEPT_HOSTS permits it.',
  },
  RESOURCE_MCP_PUBLIC_ORIGIN: {
    schema: Origin.optional(),
    description:
      'Origin of the MCP server that works without sign-in, such as `https://mcp.plainpath.example`. It must have the scheme of RESOURCE_ORIGIN, but another host or port than RESOURCE_ORIGIN and RESOURCE_ALSO_ACCEPT_HOSTS. Its requests must reach the same listener. Without this setting, there is no such server.',
  },
  RESOURCE_PORT: { schema: port, description: 'Port of the public listener.', default: '8082' },
  RESOURCE_HOST: { schema: nonEmptyText, description: 'Address of the public listener.', default: '0.0.0.0' },
  RESOURCE_OPERATIONS_PORT: {
    schema: port,
    description: 'Port of `/live`, `/ready` and `/metrics`.',
    default: '9082',
  },
  RESOURCE_OPERATIONS_HOST: {
    schema: nonEmptyText,
    description: 'Address of the operations listener.',
    default: '127.0.0.1',
  },
  RESOURCE_DATABASE_URL: {
    schema: postgresUrl,
    description:
      "URL of the PostgreSQL database of this app, as the app's role, which cannot alter the schema.",
    secret: true,
  },
  RESOURCE_SESSION_DATABASE_URL: {
    schema: postgresUrl.optional(),
    description:
      'URL of the same database and role without a pooler, for `LISTEN` and `NOTIFY`. Set it if RESOURCE_DATABASE_URL connects through a pooler in transaction mode.',
    secret: true,
  },
  RESOURCE_MIGRATION_DATABASE_URL: {
    schema: postgresUrl.optional(),
    description:
      'URL of the same database, as the role that owns the tables. Only `migrate`, `backup` and `restore` use it. Without it, `migrate` connects with RESOURCE_DATABASE_URL, and the other two refuse to run.',
    secret: true,
  },
  RESOURCE_REDIS_URL: {
    schema: redisUrl.optional(),
    description:
      'URL of the Redis server that the authorization server uses. Through it, all processes count requests, record used DPoP proofs, and receive revocations. Without it, each process counts requests separately, introspects the token of every request, and records used DPoP proofs in PostgreSQL.',
    secret: true,
  },
  RESOURCE_KEK_FILE: {
    schema: parsedFile(createSealer),
    description:
      'File with the key-encryption keys, newest first, one `kek-<id>:<key>` per line. A key is 32 bytes in base64url.',
  },
  RESOURCE_HASH_KEY_FILE: {
    schema: parsedFile(parseHashKey),
    description:
      'File with the HMAC key with which addresses and messages are hashed, one line `hash-<id>:<key>`. The key is 32 bytes in base64url.',
  },
  RESOURCE_AUTH_URL: {
    schema: listOf(baseUrl).refine((urls) => urls.length > 0, 'must name a listener'),
    description:
      'URL of the internal listener of the authorization server, such as `http://auth:8091`. If several are given, separated by commas, requests are spread over those that are available.',
  },
  RESOURCE_CLIENT_ID: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be 1 to 100 letters, digits, dots, underscores or hyphens'),
    description:
      'The client_id of this API at the introspection endpoint: the id for which `auth resource-servers create` made the credential.',
  },
  RESOURCE_CLIENT_SECRET_FILE: {
    schema: parsedFileAndPath(parseClientSecret),
    description:
      'File with the secret of RESOURCE_CLIENT_ID. It is re-read every second, and also when the secret is rejected.',
  },
  RESOURCE_SMTP_URL: {
    schema: SmtpUrl.optional(),
    description:
      'Mail server, `smtp://user:password@host:587` (STARTTLS) or `smtps://…`. Required if RESOURCE_ORIGIN is an `https` URL.',
    secret: true,
  },
  RESOURCE_MAIL_FROM: {
    schema: MailFrom.optional(),
    description: 'Sender address of outgoing mail. By default, `no-reply@` and the host of RESOURCE_ORIGIN.',
  },
  RESOURCE_OUTBOX_DIR: {
    schema: nonEmptyText,
    description:
      'Directory for outgoing mail if RESOURCE_SMTP_URL is not set. Each mail is stored there as a file for a day.',
    default: '.data/outbox',
  },
  RESOURCE_DESK_ADDRESS: {
    schema: EmailAddress.optional(),
    description:
      'Address of the staff inbox. By default, `desk@` and the host of RESOURCE_ORIGIN; for an origin on this machine, an address that never resolves.',
  },
  RESOURCE_CONTACT_HOLD: {
    schema: wholeNumberBetween(0, 60),
    description:
      'For how many minutes a message waits before it goes to the staff inbox, 0 to 60. Until then, it can be withdrawn. A message with an urgent hand-off trigger (a circumstance in which the person needs an attorney) waits at most one minute.',
    default: '10',
  },
  RESOURCE_TRUSTED_PROXIES: {
    schema: trustedProxies,
    description:
      'Addresses and networks of proxies whose `X-Forwarded-For` and `traceparent` are trusted, separated by commas.',
    default: '',
  },
  RESOURCE_CORS_ORIGINS: {
    schema: listOf(WebOrigin),
    description:
      'Origins whose scripts may send requests other than GET and HEAD, separated by commas. Scripts of any origin may POST to `/api/answers` and to the public MCP server.',
    default: '',
  },
  RESOURCE_ALSO_ACCEPT_HOSTS: {
    schema: listOf(hostHeader),
    description:
      'Additional values of the `Host` header that are accepted, such as `127.0.0.1:8080`, separated by commas. URLs in responses still begin with RESOURCE_ORIGIN.',
    default: '',
  },
  RESOURCE_SECURITY_CONTACT: {
    schema: ReportContact.optional(),
    description:
      'Contact for vulnerability reports in `/.well-known/security.txt`, such as `mailto:security@plainpath.example`. By default, `security@` and the host of RESOURCE_ORIGIN.',
  },
  RESOURCE_LIMITS_FACTOR: {
    schema: positiveNumber(1_000_000),
    description:
      'Multiplies every rate limit, every cap on mails sent, and the limits on queued mails. More than 0, and at most 1,000,000.',
    default: '1',
  },
  RESOURCE_OTLP_URL: {
    schema: baseUrl.optional(),
    description:
      'URL of the trace collector (OTLP over HTTP), such as `http://collector:4318`. Without it, no traces are sent.',
  },
  RESOURCE_DRAIN_DELAY_SECONDS: {
    schema: wholeNumberBetween(0, 99),
    description:
      'For how many seconds, 0 to 99, the app still accepts requests after SIGTERM, while `/ready` fails, so that load balancers stop sending them.',
    default: '5',
  },
  RESOURCE_DRAIN_SECONDS: {
    schema: wholeNumberBetween(0, 300),
    description:
      'For how many seconds, 0 to 300, in-flight requests may still run once the drain delay is over.',
    default: '20',
  },
} as const satisfies Record<string, Setting>

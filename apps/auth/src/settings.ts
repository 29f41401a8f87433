import { readFileSync } from 'node:fs'
import { parseTrustedProxies, type TrustedProxies } from '@plainpath/http'
import { MailFrom, SmtpUrl } from '@plainpath/mail'
import { Origin } from '@plainpath/metadata'
import { type HashKey, parseHashKey, parseKeyEncryptionKeys, type SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { KEY_SETTINGS } from './keys/key-settings.ts'
import { parseResourceServers } from './resource-servers/resource-servers-file.ts'

/** Digits only: `Number` would read an empty text as 0, and port 0 as any port. */
const number = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'must be a number')
  .transform(Number)
const port = number.pipe(z.int().max(65_535, 'must be a port number'))
const positive = (most: number) =>
  number.refine((value) => value > 0 && value <= most, `must be more than 0 and at most ${most}`)
const host = z.string().min(1, 'must not be empty')
const list = (each: z.ZodType<string, string>) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter(Boolean),
    )
    .pipe(z.array(each))
const hostHeader = z
  .string()
  .regex(/^[a-z0-9.-]+(:\d+)?$|^\[[0-9a-f:]+\](:\d+)?$/, 'must be values such as 127.0.0.1:8080')
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, hostname: /./, error: 'must be a postgres:// URL' })

/** A secret reaches us as the path of a file, so that it shows neither in the environment nor in a listing. */
const file = <T>(parse: (text: string) => T) =>
  z.string().transform((path, ctx): T => {
    try {
      return parse(readFileSync(path, 'utf8'))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      ctx.addIssue({
        code: 'custom',
        message: code ? `cannot be read (${code})` : 'names a file whose content is not valid',
      })
      return z.NEVER
    }
  })

const trustedProxies = z.string().transform((text, ctx): TrustedProxies => {
  try {
    return parseTrustedProxies(text)
  } catch {
    ctx.addIssue({ code: 'custom', message: 'must be addresses and networks such as 10.0.0.0/8' })
    return z.NEVER
  }
})

const setting = <S extends z.ZodType>(schema: S, description: string) => schema.meta({ description })

/** Every variable of the authorization server. The table in README.md is made from this. */
export const SETTINGS = {
  AUTH_ORIGIN: setting(Origin, 'Site root and OAuth issuer, such as `https://plainpath.example`'),
  AUTH_PORT: setting(port.prefault('8081'), 'Port of the public listener'),
  AUTH_HOST: setting(host.prefault('0.0.0.0'), 'Address the public listener binds'),
  AUTH_INTERNAL_PORT: setting(port.prefault('8091'), 'Port of the internal listener (introspection, JWKS)'),
  AUTH_INTERNAL_HOST: setting(
    host.prefault('127.0.0.1'),
    'Address the internal listener binds; never a public one',
  ),
  AUTH_OPERATIONS_PORT: setting(port.prefault('9081'), 'Port of `/live`, `/ready` and `/metrics`'),
  AUTH_OPERATIONS_HOST: setting(host.prefault('127.0.0.1'), 'Address the operations listener binds'),
  AUTH_DATABASE_URL: setting(postgresUrl, 'PostgreSQL, as the role that may not change tables'),
  AUTH_MIGRATION_DATABASE_URL: setting(
    postgresUrl.optional(),
    'PostgreSQL, as the owner; for `migrate` only',
  ),
  AUTH_REDIS_URL: setting(
    z.url({ protocol: /^rediss?$/, hostname: /./, error: 'must be a redis:// URL' }).optional(),
    'Redis for tokens and limits; without it they live in PostgreSQL and memory',
  ),
  AUTH_KEK_FILE: setting(
    file<SealingKeys>(parseKeyEncryptionKeys),
    'File of key-encryption keys, newest first',
  ),
  AUTH_HASH_KEY_FILE: setting(file<HashKey>(parseHashKey), 'File of the hash key'),
  AUTH_RESOURCE_SERVERS_FILE: setting(
    z
      .string()
      .transform((path) => ({ path, servers: path }))
      .pipe(z.object({ path: z.string(), servers: file(parseResourceServers) })),
    'JSON file of the resource servers that may introspect; read again every second',
  ),
  AUTH_SMTP_URL: setting(
    SmtpUrl.optional(),
    'Mail server, `smtp://user:password@host:587` (STARTTLS) or `smtps://…`; an `https` AUTH_ORIGIN needs one',
  ),
  AUTH_MAIL_FROM: setting(
    MailFrom.optional(),
    'Address that mail comes from; without it `no-reply@` the host of AUTH_ORIGIN',
  ),
  AUTH_OUTBOX_DIR: setting(
    z.string().min(1).prefault('.data/outbox'),
    'Directory where mail becomes files for a day, without AUTH_SMTP_URL',
  ),
  AUTH_TRUSTED_PROXIES: setting(
    trustedProxies.prefault(''),
    'Addresses and networks of gateways whose `X-Forwarded-For` and `traceparent` are believed',
  ),
  AUTH_CORS_ORIGINS: setting(list(Origin).prefault(''), 'Origins whose scripts may POST'),
  AUTH_ALSO_ACCEPT_HOSTS: setting(
    list(hostHeader).prefault(''),
    'Further values of Host that are accepted, such as `127.0.0.1:8080`',
  ),
  AUTH_LIMITS_FACTOR: setting(positive(1_000_000).prefault('1'), 'Multiplies every rate limit'),
  AUTH_OTLP_URL: setting(
    z
      .url({ protocol: /^https?$/, hostname: /./, error: 'must be a http:// or https:// URL' })
      .refine((text) => !/[@?#]|\/$/.test(text), 'must have no user, query or trailing slash')
      .optional(),
    'Collector of traces, OTLP over HTTP, such as `http://collector:4318`; without it there are none',
  ),
  AUTH_NEVER_USED_CLIENTS: setting(
    number.pipe(z.int().min(1).max(10_000_000)).prefault('100000'),
    'So many clients that never got a token may be registered at once; over it the oldest go, none younger than an hour',
  ),
  AUTH_DRAIN_DELAY_SECONDS: setting(
    number.refine((value) => value <= 99, 'must be at most 99').prefault('5'),
    'How long requests are still taken after SIGTERM, unready, until every gateway has looked away',
  ),
  AUTH_DRAIN_SECONDS: setting(
    positive(600).prefault('20'),
    'How long requests in flight may take after that',
  ),
  ...KEY_SETTINGS,
}

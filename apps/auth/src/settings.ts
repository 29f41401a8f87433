import { readFileSync } from 'node:fs'
import { parseTrustedProxies, type TrustedProxies } from '@plainpath/http'
import { Origin } from '@plainpath/metadata'
import { type HashKey, parseHashKey, parseKeyEncryptionKeys, type SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { ResourceServers } from './resource-servers/resource-servers.ts'

const port = z.coerce.number().int().min(0).max(65_535)
const host = z.string().min(1)
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean),
)
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, hostname: /./ })

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
  } catch (error) {
    ctx.addIssue({ code: 'custom', message: (error as Error).message })
    return z.NEVER
  }
})

const setting = <S extends z.ZodType>(schema: S, description: string) => schema.meta({ description })

/** Every variable of the authorization server. The table in README.md is made from this. */
export const SETTINGS = {
  AUTH_ORIGIN: setting(Origin, 'Site root and OAuth issuer, such as `https://plainpath.example`'),
  AUTH_PORT: setting(port.default(8081), 'Port of the public listener'),
  AUTH_HOST: setting(host.default('0.0.0.0'), 'Address the public listener binds'),
  AUTH_INTERNAL_PORT: setting(port.default(8091), 'Port of the internal listener (introspection, JWKS)'),
  AUTH_INTERNAL_HOST: setting(
    host.default('127.0.0.1'),
    'Address the internal listener binds; never a public one',
  ),
  AUTH_OPERATIONS_PORT: setting(port.default(9081), 'Port of `/live`, `/ready` and `/metrics`'),
  AUTH_OPERATIONS_HOST: setting(host.default('127.0.0.1'), 'Address the operations listener binds'),
  AUTH_DATABASE_URL: setting(postgresUrl, 'PostgreSQL, as the role that may not change tables'),
  AUTH_MIGRATION_DATABASE_URL: setting(
    postgresUrl.optional(),
    'PostgreSQL, as the owner; for `migrate` only',
  ),
  AUTH_REDIS_URL: setting(
    z.url({ protocol: /^rediss?$/ }).optional(),
    'Redis for tokens and limits; without it they live in PostgreSQL and memory',
  ),
  AUTH_KEK_FILE: setting(
    file<SealingKeys>(parseKeyEncryptionKeys),
    'File of key-encryption keys, newest first',
  ),
  AUTH_HASH_KEY_FILE: setting(file<HashKey>(parseHashKey), 'File of the hash key'),
  AUTH_RESOURCE_SERVERS_FILE: setting(
    file((text) => ResourceServers.parse(JSON.parse(text))),
    'JSON file of the resource servers that may introspect',
  ),
  AUTH_TRUSTED_PROXIES: setting(
    trustedProxies.prefault(''),
    'Addresses and networks of gateways whose `X-Forwarded-For` is believed',
  ),
  AUTH_CORS_ORIGINS: setting(list.prefault(''), 'Origins whose scripts may POST'),
  AUTH_ALSO_ACCEPT_HOSTS: setting(
    list.prefault(''),
    'Further values of Host that are accepted, such as `127.0.0.1:8080`',
  ),
  AUTH_LIMITS_FACTOR: setting(
    z.coerce.number().positive().max(1_000_000).default(1),
    'Multiplies every rate limit',
  ),
  AUTH_DRAIN_SECONDS: setting(
    z.coerce.number().positive().max(600).default(20),
    'How long requests in flight may take after SIGTERM',
  ),
}

import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadConfig } from '@plainpath/auth/config'
import { initKeys } from '@plainpath/auth/key-operations'
import { MIGRATIONS as AUTH_MIGRATIONS, openStores } from '@plainpath/auth/stores'
import { createLog } from '@plainpath/http'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { ensureLocalSecrets } from '@plainpath/local/secrets'
import { createServiceUrls } from '@plainpath/metadata'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { MIGRATIONS as RESOURCE_MIGRATIONS } from '@plainpath/resource/migrations'
import { getRevocationKey, type RevocationOptions } from '@plainpath/revocation'
import { Redis } from 'ioredis'
import { inject } from 'vitest'

/** The settings of both apps for one test, with new databases, new keys and a signing key. */
export interface SystemEnvironment extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>
  readonly adminUrls: { readonly auth: string; readonly resource: string }
  /**
   * Runtime dependencies of both apps in a test process. The apps have a revocation channel of their own, because
   * systems of other tests may share the Redis and must not wait for each other. Leases are short, so that revocations wait
   * less. The time-outs are long, for a busy machine.
   */
  readonly dependencies: {
    readonly revocation: RevocationOptions
    readonly databasePatience: number
    readonly redisTimeoutMs: number
    readonly introspectionTimeoutMs: number
  }
}

/**
 * Creates the databases, secrets and signing key of a test.
 *
 * @param origin the public origin of both apps
 * @param limitsFactor multiplies the quotas of all limits. Above 1, the apps use the Redis of the test run, if there is one
 */
export async function openSystemEnvironment(
  origin: string,
  limitsFactor = 1_000,
): Promise<SystemEnvironment> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-e2e-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const secrets = await ensureLocalSecrets(await openDataDirectory(folder), createServiceUrls(origin).base)
  const auth = opening.use(await openTestDatabase({ folder: AUTH_MIGRATIONS, name: 'auth' }))
  const resource = opening.use(await openTestDatabase({ folder: RESOURCE_MIGRATIONS, name: 'resource' }))
  // Production limits (factor 1) are counted in memory, because a shared Redis would contain counts of other tests.
  const redisUrl = limitsFactor > 1 ? inject('redisUrl') : undefined
  const revocationName = `plainpath-test-${randomUUID()}`
  if (redisUrl) opening.defer(() => removeKey(redisUrl, getRevocationKey(revocationName)))
  const env = {
    ...secrets.files,
    RESOURCE_CLIENT_ID: secrets.RESOURCE_CLIENT_ID,
    AUTH_ORIGIN: origin,
    RESOURCE_ORIGIN: origin,
    AUTH_DRAIN_DELAY_SECONDS: '0',
    RESOURCE_DRAIN_DELAY_SECONDS: '0',
    AUTH_DATABASE_URL: auth.appUrl,
    RESOURCE_DATABASE_URL: resource.appUrl,
    AUTH_LIMITS_FACTOR: String(limitsFactor),
    RESOURCE_LIMITS_FACTOR: String(limitsFactor),
    AUTH_OUTBOX_DIR: path.join(folder, 'outbox'),
    RESOURCE_OUTBOX_DIR: path.join(folder, 'outbox'),
    ...(origin.startsWith('https:') && { AUTH_SMTP_URL: NO_MAIL_SERVER, RESOURCE_SMTP_URL: NO_MAIL_SERVER }),
    // Nothing listens here. Tests that start an auth instance set its address.
    RESOURCE_AUTH_URL: 'http://127.0.0.1:9',
    ...(redisUrl && { AUTH_REDIS_URL: redisUrl, RESOURCE_REDIS_URL: redisUrl }),
  }
  await createSigningKey(env)
  const resources = opening.move()
  return {
    env,
    adminUrls: { auth: auth.adminUrl, resource: resource.adminUrl },
    dependencies: {
      revocation: { name: revocationName, intervals: { leaseMs: 500, renewMs: 100, marginMs: 50 } },
      databasePatience: 5,
      redisTimeoutMs: 5_000,
      introspectionTimeoutMs: 5_000,
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** An address at which nothing listens. */
const NO_MAIL_SERVER = 'smtp://127.0.0.1:9'

async function removeKey(redisUrl: string, key: string): Promise<void> {
  const redis = new Redis(redisUrl)
  await redis.del(key).finally(() => redis.disconnect())
}

async function createSigningKey(env: Readonly<Record<string, string>>): Promise<void> {
  const now = () => new Date()
  const log = createLog({ service: 'e2e', write: () => {} })
  await using stores = await openStores(loadConfig(env), { log, now })
  await initKeys({ keys: stores.keys })
}

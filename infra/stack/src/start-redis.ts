import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

export interface RunningRedis extends ManagedProcess {
  readonly port: number
  /** The URLs for the apps. The user of each app may access only the keys and channels of that app and the shared ones. */
  readonly urls: { readonly auth: string; readonly resource: string }
  /** The URL for tests and the bench, with a user that may run every command. */
  readonly adminUrl: string
}

/** Starts Redis as in production: no persistence, no eviction, no user without a password. */
export async function startRedis(options: {
  program: string
  port: number
  folder: string
  /** The memory limit in MB; by default 256. */
  maxMemoryMb?: number
}): Promise<RunningRedis> {
  const { program, port, folder } = options
  const createPassword = () => randomBytes(24).toString('base64url')
  const passwords = { auth: createPassword(), resource: createPassword() }
  const adminPassword = createPassword()
  const aclFile = path.join(folder, `redis-${port}.acl`)
  const acl = `${formatRedisAcl(passwords)}user admin on >${adminPassword} ~* &* +@all\n`
  await writeFile(aclFile, acl, { mode: 0o600 })
  const redis = await startManagedProcess({
    name: 'redis',
    command: [
      program,
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      ...['--maxmemory', `${options.maxMemoryMb ?? 256}mb`, '--maxmemory-policy', 'noeviction'],
      ...['--aclfile', aclFile, '--dir', folder],
    ],
    env: {},
    logFile: path.join(folder, 'redis.log'),
    readyLine: 'Ready to accept connections',
  })
  const formatUrl = (user: string, password: string) => `redis://${user}:${password}@127.0.0.1:${port}`
  return Object.assign(redis, {
    port,
    urls: { auth: formatUrl('auth', passwords.auth), resource: formatUrl('resource', passwords.resource) },
    adminUrl: formatUrl('admin', adminPassword),
  })
}

/** The key with the subscribers, and the channel of revocations, which both apps use. */
const SHARED_PATTERNS = '~revocation:state &revocation:notices'

const CONNECTION_COMMANDS = '+@connection -@dangerous -@admin'
/**
 * Both apps use these commands, for example for rate limits and the list of subscribers. Scripts read the replication ID with
 * `info`. It is in the category `@dangerous`, so it must follow `CONNECTION_COMMANDS`.
 */
const COMMON_COMMANDS =
  '+eval +evalsha +get +set +del +hget +hmget +hgetall +hset +hdel +hincrby +publish +time +info'
/** `auth stop` counts the tokens that it revoked. The API subscribes to revocations. */
const APP_COMMANDS = {
  auth: '+scan +mget',
  resource: '+subscribe +unsubscribe',
} as const

/** Formats ACL rules that allow an app only its own commands, on its own and the shared keys and channels. */
const formatAccessRules = (app: keyof typeof APP_COMMANDS) =>
  `~${app}:* &${app}:* ${SHARED_PATTERNS} -@all ${CONNECTION_COMMANDS} ${COMMON_COMMANDS} ${APP_COMMANDS[app]}`

/** Formats the Redis ACL file: one user for each app, and no default user. */
export const formatRedisAcl = (passwords: { readonly auth: string; readonly resource: string }): string =>
  [
    'user default off',
    `user auth on >${passwords.auth} ${formatAccessRules('auth')}`,
    `user resource on >${passwords.resource} ${formatAccessRules('resource')}`,
    '',
  ].join('\n')

import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

export interface RunningRedis extends ManagedProcess {
  readonly port: number
  /** With a user for each app, which may access only the keys and channels of that app and the shared ones. */
  readonly urls: { readonly auth: string; readonly resource: string }
  /** With a user that may do everything, for tests. */
  readonly adminUrl: string
}

/** Starts Redis as in production: no persistence, no eviction, no user without a password. */
export async function startRedis(options: {
  program: string
  port: number
  folder: string
  maxMemoryMb?: number
}): Promise<RunningRedis> {
  const { program, port, folder } = options
  const createPassword = () => randomBytes(24).toString('base64url')
  const [auth, resource, admin] = [createPassword(), createPassword(), createPassword()]
  const aclFile = path.join(folder, `redis-${port}.acl`)
  const acl = `${redisAcl({ auth, resource })}user admin on >${admin} ~* &* +@all\n`
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
  const url = (user: string, password: string) => `redis://${user}:${password}@127.0.0.1:${port}`
  return Object.assign(redis, {
    port,
    urls: { auth: url('auth', auth), resource: url('resource', resource) },
    adminUrl: url('admin', admin),
  })
}

/** Shared by auth and the API: the key with the subscribers, and the channel of revocations. */
const SHARED_KEYS = '~revocation:state &revocation:notices'

const CONNECTION_COMMANDS = '+@connection -@dangerous -@admin'
/** Used by both apps, for rate limits and the list of subscribers. */
const COMMON_COMMANDS =
  '+eval +evalsha +get +set +del +hget +hmget +hgetall +hset +hdel +hincrby +publish +time +info'
/** Used besides: both subscribe to revocations, and `auth stop` counts the tokens that it revoked. */
const APP_COMMANDS = {
  auth: '+subscribe +unsubscribe +scan +mget',
  resource: '+subscribe +unsubscribe',
} as const

/** Allows an app the commands that it sends, on its own and the shared keys and channels. Everything else is denied. */
const accessRules = (app: keyof typeof APP_COMMANDS) =>
  `~${app}:* &${app}:* ${SHARED_KEYS} -@all ${CONNECTION_COMMANDS} ${COMMON_COMMANDS} ${APP_COMMANDS[app]}`

/** Writes the ACL file of Redis: a user for each app with `accessRules`, and no default user. */
export const redisAcl = (passwords: { readonly auth: string; readonly resource: string }): string =>
  [
    'user default off',
    `user auth on >${passwords.auth} ${accessRules('auth')}`,
    `user resource on >${passwords.resource} ${accessRules('resource')}`,
    '',
  ].join('\n')

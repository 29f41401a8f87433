import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

export interface RunningRedis extends ManagedProcess {
  readonly port: number
  /** One user for each app, who may touch the keys and channels of that app only. */
  readonly urls: { readonly auth: string; readonly resource: string }
  /** May do everything: for tests. */
  readonly adminUrl: string
}

/** Redis as it is run in production: nothing on disk, nothing evicted, no user without a password. */
export async function startRedis(options: {
  program: string
  port: number
  folder: string
  maxMemoryMb?: number
}): Promise<RunningRedis> {
  const { program, port, folder } = options
  const password = () => randomBytes(24).toString('base64url')
  const [auth, resource, admin] = [password(), password(), password()]
  const aclFile = path.join(folder, `redis-${port}.acl`)
  const acl = `${redisAcl({ auth, resource })}user admin on >${admin} ~* &* +@all\n`
  await writeFile(aclFile, acl, { mode: 0o600 })
  const started = await startManagedProcess({
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
  const url = (user: string, secret: string) => `redis://${user}:${secret}@127.0.0.1:${port}`
  return Object.assign(started, {
    port,
    urls: { auth: url('auth', auth), resource: url('resource', resource) },
    adminUrl: url('admin', admin),
  })
}

/** What auth and the API share: the list of members, and the channel of revocation notices. */
const SHARED = '~revocation:state &revocation:notices'

const CONNECTION = '+@connection -@dangerous -@admin'
/** What scripts and their callers use. Both apps keep limits and read the list of members. */
const COMMON = '+eval +evalsha +get +set +del +hget +hmget +hgetall +hset +hdel +hincrby +publish +time +info'
/** Beyond that: both follow the channel of notices, and `auth stop` counts the tokens that it ended. */
const OWN = { auth: '+subscribe +unsubscribe +scan +mget', resource: '+subscribe +unsubscribe' } as const

/** The commands that an app sends, on its own keys and channels and on what both share. Everything else is denied. */
const rights = (app: keyof typeof OWN) =>
  `~${app}:* &${app}:* ${SHARED} -@all ${CONNECTION} ${COMMON} ${OWN[app]}`

/** The ACL file of Redis: a user for each app, who may touch the keys and channels of that app only; no default user. */
export const redisAcl = (passwords: { readonly auth: string; readonly resource: string }): string =>
  [
    'user default off',
    `user auth on >${passwords.auth} ${rights('auth')}`,
    `user resource on >${passwords.resource} ${rights('resource')}`,
    '',
  ].join('\n')

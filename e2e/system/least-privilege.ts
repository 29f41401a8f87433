import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { openPool } from '@plainpath/postgres'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import type { System } from './open-system.ts'

const APPS = ['auth', 'resource'] as const
const OTHER_APP = { auth: 'resource', resource: 'auth' } as const

/** Tests what each app may do in PostgreSQL and Redis, and which servers it connects to. */
export function describeLeastPrivilege(getSystem: () => System): void {
  const getDatabaseUrl = (app: (typeof APPS)[number]) =>
    getSystem().stack.env[`${app.toUpperCase()}_DATABASE_URL`] ?? ''

  /** Sends a command to Redis as the user of an app. Returns `done`, or the first word of the error. */
  const sendCommand = async (app: (typeof APPS)[number], ...commandLine: [string, ...string[]]) => {
    const redis = new Redis(getSystem().stack.redis.urls[app], {
      lazyConnect: true,
      retryStrategy: () => null,
    })
    // Without a listener, ioredis prints connection errors. The command rejects with them too.
    redis.on('error', () => {})
    try {
      await redis.connect()
      const [command, ...args] = commandLine
      await redis.call(command, ...args)
      return 'done'
    } catch (error) {
      return (error as Error).message.split(' ')[0]
    } finally {
      redis.disconnect()
    }
  }

  describe.for(APPS)('in PostgreSQL, the role of %s', (app) => {
    /** Runs SQL as the role of the app. Returns `done`, or the SQLSTATE of the error. */
    const runQuery = async (sql: string, url = getDatabaseUrl(app)) => {
      await using db = openPool(url, { max: 1 })
      return await db.query(sql).then(
        () => 'done',
        (error: unknown) => (error as { code?: string }).code ?? 'an error without a code',
      )
    }
    const TABLE = { auth: 'agents', resource: 'waitlist_entries' }[app]

    test('may read, update and delete rows of its own table', async () => {
      expect(await runQuery(`select * from ${TABLE} limit 1`)).toBe('done')
      expect(await runQuery(`update ${TABLE} set id = id where false`)).toBe('done')
      expect(await runQuery(`delete from ${TABLE} where false`)).toBe('done')
    })

    test.for([
      'create table planted (id int)',
      'create schema planted',
      'create view planted as select 1',
      `create function planted() returns int language sql as 'select 1'`,
      `create temporary table planted (id int)`,
      `alter table ${TABLE} add column planted int`,
      `alter table ${TABLE} disable trigger all`,
      `drop table ${TABLE}`,
      `truncate ${TABLE}`,
      `create index planted on ${TABLE} (id)`,
      `create trigger planted before insert on ${TABLE} execute function suppress_redundant_updates_trigger()`,
      `alter table ${TABLE} owner to current_user`,
      'create role planted',
      'create database planted',
      'create extension postgres_fdw',
      'delete from schema_migrations',
      'select * from pg_authid',
      `select pg_read_file('/etc/passwd')`,
      `copy ${TABLE} to program 'true'`,
      `copy ${TABLE} to '/tmp/planted'`,
      `alter system set work_mem = '64MB'`,
      'select pg_reload_conf()',
      `set session authorization postgres`,
    ])('may not: %s', async (sql) => {
      // PostgreSQL reports both a missing privilege and "must be owner" with this SQLSTATE (insufficient_privilege).
      expect(await runQuery(sql)).toBe('42501')
    })

    test.for([`plainpath_${OTHER_APP[app]}`, 'postgres', 'template1'])(
      'may not connect to %s',
      async (name) => {
        const url = new URL(getDatabaseUrl(app))
        url.pathname = `/${name}`
        expect(await runQuery('select 1', url.href)).toBe('42501')
      },
    )

    test('has no special attributes, and is a member of no role', async () => {
      await using db = openPool(getDatabaseUrl(app), { max: 1 })
      const { rows } = await db.query(
        `select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
           (select count(*)::int from pg_auth_members where member = r.oid) as memberships
         from pg_roles r where rolname = current_user`,
      )
      expect(rows).toEqual([
        {
          rolsuper: false,
          rolcreaterole: false,
          rolcreatedb: false,
          rolreplication: false,
          rolbypassrls: false,
          memberships: 0,
        },
      ])
    })
  })

  test('in PostgreSQL, auth may only read and add rows of the key audit', async () => {
    await using db = openPool(getDatabaseUrl('auth'), { max: 1 })
    const { rows } = await db.query<{ privilege: string }>(
      `select privilege_type as privilege from information_schema.role_table_grants
       where table_name = 'key_audit' and grantee = current_user order by 1`,
    )
    expect(rows.map(({ privilege }) => privilege)).toEqual(['INSERT', 'SELECT'])
  })

  describe.for(APPS)('in Redis, the user of %s', (app) => {
    const otherApp = OTHER_APP[app]

    test('may use its own keys and channels', async () => {
      expect(await sendCommand(app, 'SET', `${app}:planted`, '1', 'EX', '5')).toBe('done')
      expect(await sendCommand(app, 'GET', `${app}:planted`)).toBe('done')
      expect(await sendCommand(app, 'DEL', `${app}:planted`)).toBe('done')
      expect(await sendCommand(app, 'PUBLISH', `${app}:planted`, '1')).toBe('done')
      expect(await sendCommand(app, 'EVAL', `return redis.call('GET', KEYS[1])`, '1', `${app}:planted`)).toBe(
        'done',
      )
    })

    // Each API process has a field in this hash, `member` with its id, by which revokers know that it subscribes.
    test('may use the shared hash of revocations and publish in their channel; only the API may subscribe', async () => {
      expect(await sendCommand(app, 'HGET', 'revocation:state', 'number')).toBe('done')
      expect(await sendCommand(app, 'HSET', 'revocation:state', 'member planted', '0')).toBe('done')
      expect(await sendCommand(app, 'HDEL', 'revocation:state', 'member planted')).toBe('done')
      expect(await sendCommand(app, 'SUBSCRIBE', 'revocation:notices')).toBe(
        app === 'resource' ? 'done' : 'NOPERM',
      )
      expect(await sendCommand(app, 'PUBLISH', 'revocation:notices', 'planted')).toBe('done')
    })

    test.for<[string, ...string[]]>([
      ['GET', 'revocation:planted'],
      ['SET', 'revocation:planted', '1'],
      ['SET', 'revocation:state:planted', '1'],
      ['PUBLISH', 'revocation:planted', '1'],
      ['SUBSCRIBE', 'revocation:*'],
      ['PSUBSCRIBE', 'revocation:*'],
      ['GET', `${otherApp}:planted`],
      ['SET', `${otherApp}:planted`, '1'],
      ['DEL', `${otherApp}:planted`],
      ['GET', 'planted'],
      ['EVAL', `return redis.call('GET', KEYS[1])`, '1', `${otherApp}:planted`],
      ['EVAL', `return redis.call('GET', '${otherApp}:planted')`, '0'],
      ['RENAME', `${app}:planted`, `${otherApp}:planted`],
      ['COPY', `${otherApp}:planted`, `${app}:planted`],
      ['PUBLISH', `${otherApp}:planted`, '1'],
      ['SUBSCRIBE', `${otherApp}:planted`],
      ['PSUBSCRIBE', '*'],
      ['KEYS', '*'],
      ['RANDOMKEY'],
      ['DBSIZE'],
      ['SORT', `${app}:planted`],
      ['OBJECT', 'ENCODING', `${app}:planted`],
      ['FUNCTION', 'FLUSH'],
      ['FUNCTION', 'LIST'],
      ['FCALL', 'planted', '0'],
      ['SCRIPT', 'FLUSH'],
      ['SCRIPT', 'KILL'],
      ['PUBSUB', 'CHANNELS'],
      ['MULTI'],
      ['SWAPDB', '0', '1'],
      ['FLUSHALL'],
      ['FLUSHDB'],
      ['CONFIG', 'GET', '*'],
      ['ACL', 'LIST'],
      ['MONITOR'],
      ['SLOWLOG', 'GET'],
      ['CLIENT', 'LIST'],
      ['CLIENT', 'KILL', 'TYPE', 'normal'],
      ['SHUTDOWN', 'NOSAVE'],
      ['REPLICAOF', 'NO', 'ONE'],
      ['MODULE', 'LIST'],
      ['SAVE'],
    ])('may not: %s %s %s', async (commandLine) => {
      const output = await sendCommand(app, ...commandLine)
      // If a script uses a forbidden key, the error of the script (ERR) may contain that of Redis.
      expect(['NOPERM', 'ERR']).toContain(output)
      if (commandLine[0] !== 'EVAL') expect(output).toBe('NOPERM')
    })
  })

  test('in Redis, auth may list its keys, and the API may use neither SCAN nor MGET', async () => {
    expect(await sendCommand('auth', 'SCAN', '0', 'MATCH', 'auth:*')).toBe('done')
    expect(await sendCommand('resource', 'SCAN', '0')).toBe('NOPERM')
    expect(await sendCommand('resource', 'MGET', 'resource:planted')).toBe('NOPERM')
  })

  test('Redis refuses a command without a user and a password', async () => {
    const redis = new Redis(getSystem().stack.redis.port, '127.0.0.1', {
      lazyConnect: true,
      retryStrategy: () => null,
    })
    redis.on('error', () => {})
    await expect(redis.connect().then(() => redis.get('auth:planted'))).rejects.toThrow(/NOAUTH|closed/)
    redis.disconnect()
  })

  test('each app connects only to its stores, and the API also to auth', () => {
    const { stack } = getSystem()
    const stores = [stack.postgres.port, stack.redis.port]
    const internal = stack.auth.map(({ ports }) => ports.internal)
    for (const { name, child, ports } of [...stack.auth, ...stack.resource]) {
      const allowedPorts = name.startsWith('auth') ? stores : [...stores, ...internal]
      const ownPorts = Object.values(ports)
      const connections = listConnections(child.pid ?? 0).filter(
        ({ localPort }) => !ownPorts.includes(localPort),
      )
      expect(connections.length, name).toBeGreaterThan(0)
      for (const { remotePort, isRemoteLoopback } of connections) {
        expect(isRemoteLoopback, name).toBe(true)
        expect(allowedPorts, name).toContain(remotePort)
      }
    }
  })
}

interface Connection {
  readonly localPort: number
  readonly remotePort: number
  readonly isRemoteLoopback: boolean
}

/** Lists the established TCP connections of a process from /proc. */
function listConnections(pid: number): Connection[] {
  /** The inodes of the sockets that the process has open. */
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        // The descriptor was closed after the folder was read.
        return []
      }
    }),
  )
  // The kernel's code in the column `st` (include/net/tcp_states.h). `sl`, `st` and `inode` are columns 0, 3 and 9.
  const ESTABLISHED = '01'
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === ESTABLISHED && sockets.has(inode ?? ''))
      .map(([, local = '', remote = '']) => ({
        localPort: Number.parseInt(local.split(':')[1] ?? '', 16),
        remotePort: Number.parseInt(remote.split(':')[1] ?? '', 16),
        // 127.0.0.1, the same address in IPv6, and ::1, as the kernel writes them.
        isRemoteLoopback: /^(0100007F|0{8}0{8}FFFF00000100007F|0{24}01000000)$/.test(
          remote.split(':')[0] ?? '',
        ),
      })),
  )
}

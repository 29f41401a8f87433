import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startTcpProxy } from '../test/tcp-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../test/test-database.ts'
import { openPool, type Pool } from './database.ts'
import { isUnavailable } from './database-error.ts'
import { createReservedPool } from './reserved-pool.ts'

// The numbers in the titles, such as F-33, are those of the faults in e2e/faults/fault-numbers.ts.

let database: TestDatabase
/** Has one connection: if the process id of its session changes, the connection was replaced. */
let pool: Pool
let admin: Pool
const logEntries: { message: string; fields?: Record<string, unknown> }[] = []
const log = { error: (message: string, fields = {}) => void logEntries.push({ message, fields }) }

beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'pool',
  })
  pool = openPool(database.appUrl, { max: 1, applicationName: 'pool under test', log })
  admin = openPool(database.adminUrl)
})
afterAll(async () => {
  await pool?.[Symbol.asyncDispose]()
  await admin?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

const catchError = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => error as Error,
  )
const readPid = async (db: Pick<Pool, 'query'>) =>
  (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
const addNote = (db: Pick<Pool, 'query'>, slug: string, body = '') =>
  db.query('insert into notes (slug, body) values ($1, $2)', [slug, body])
const countNotes = async (slug: string) =>
  (await pool.query<{ count: number }>('select count(*) from notes where slug = $1', [slug])).rows[0]?.count

test('counts connections in use and waiting requests', async () => {
  await using ownPool = openPool(database.appUrl, { max: 1 })
  expect(ownPool.getUsage()).toEqual({ inUse: 0, idle: 0, waiting: 0, shed: 0, failed: 0, max: 1, open: 0 })
  const transaction = ownPool.transaction(async (tx) => {
    await tx.query('select 1')
    const waitingQuery = ownPool.query('select 1')
    await vi.waitFor(() =>
      expect(ownPool.getUsage()).toEqual({
        inUse: 1,
        idle: 0,
        waiting: 1,
        shed: 0,
        failed: 0,
        max: 1,
        open: 1,
      }),
    )
    return { waitingQuery }
  })
  await (await transaction).waitingQuery
  expect(ownPool.getUsage()).toEqual({ inUse: 0, idle: 1, waiting: 0, shed: 0, failed: 0, max: 1, open: 1 })
})

describe('rows', () => {
  test('have dates as text, bigints as numbers, instants as Dates, and bytes as Buffers', async () => {
    const { rows, rowCount } = await pool.query(
      `select $1::date as day, array[$1::date] as days, 9007199254740991::bigint as big,
        $2::timestamptz as instant, $3::bytea as bytes`,
      ['2026-01-31', new Date('2026-01-31T12:00:00Z'), Buffer.from([0, 255])],
    )
    expect(rowCount).toBe(1)
    expect(rows[0]).toEqual({
      day: '2026-01-31',
      days: ['2026-01-31'],
      big: 9_007_199_254_740_991,
      instant: new Date('2026-01-31T12:00:00Z'),
      bytes: Buffer.from([0, 255]),
    })
  })

  test('have bytes that do not share memory with other values', async () => {
    const { rows } = await pool.query<{ hash: Buffer; hashes: (Buffer | null)[] }>(
      'select sha256($1) as hash, array[sha256($1), null] as hashes',
      [Buffer.from('a')],
    )
    const [row] = rows
    expect(row?.hashes).toEqual([row?.hash, null])
    const buffers = [row?.hash, ...(row?.hashes ?? [])].flatMap((bytes) => (bytes ? [bytes] : []))
    // A slice of pg's shared memory would have a larger `buffer` than the 32 bytes of a hash.
    expect(buffers.map((bytes) => bytes.buffer.byteLength)).toEqual([32, 32])
  })

  test('with a bigint beyond the safe range fail the statement, and leave the pool usable', async () => {
    await expect(pool.query('select 9007199254740993::bigint as big')).rejects.toThrow('beyond ±(2^53-1)')
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })
})

describe('a transaction', () => {
  test('is committed when its work returns', async () => {
    expect(await pool.transaction((tx) => addNote(tx, 'kept'))).toMatchObject({ rowCount: 1 })
    expect(await countNotes('kept')).toBe(1)
  })

  test('is rolled back when its work throws', async () => {
    const work = pool.transaction(async (tx) => {
      await addNote(tx, 'undone')
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    expect(await countNotes('undone')).toBe(0)
  })

  test('fails to commit when its work ignored a failed statement', async () => {
    const work = pool.transaction(async (tx) => {
      await addNote(tx, 'swallowed')
      await catchError(tx.query('select 1 / 0'))
    })
    await expect(work).rejects.toThrow('nothing was committed')
    expect(await countNotes('swallowed')).toBe(0)
  })

  test('cannot be used after its end', async () => {
    const tx = await pool.transaction(async (open) => open)
    await expect(addNote(tx, 'late')).rejects.toThrow('the transaction has ended')
  })
})

describe('an error:', () => {
  test('a unique violation names its constraint and does not close the connection', async () => {
    await addNote(pool, 'twice')
    const pidBefore = await readPid(pool)
    const error = await catchError(addNote(pool, 'twice'))
    expect(error).toMatchObject({ code: '23505', constraint: 'notes_slug_key' })
    expect(isUnavailable(error)).toBe(false)
    expect(await readPid(pool)).toBe(pidBefore)
  })

  test.for([
    {
      kind: 'a unique violation',
      run: () => addNote(pool, 'canary-7f3a').then(() => addNote(pool, 'canary-7f3a')),
    },
    {
      kind: 'a null in a column that allows none',
      run: () => pool.query(`insert into notes (slug, body) values ('canary-7f3a', null)`),
    },
    { kind: 'a value of another type', run: () => pool.query('select $1::int', ['canary-7f3a "quoted"']) },
  ])('$kind contains no values', async ({ run }) => {
    expect(inspect(await catchError(run()), { depth: 9, showHidden: true })).not.toContain('canary')
  })

  test('a mistake in a statement does not count as unavailable', async () => {
    expect(isUnavailable(await catchError(pool.query('select nothing from nowhere')))).toBe(false)
  })
})

describe('isUnavailable returns true for', () => {
  test('a statement that takes over 2 s', async () => {
    const error = await catchError(pool.query('select pg_sleep(10)'))
    expect(error).toMatchObject({ code: '57014' })
    expect(isUnavailable(error)).toBe(true)
  })

  test('a lock that is not free within 0.5 s', async () => {
    const error = await admin.transaction(async (holder) => {
      await holder.query('lock table notes')
      return catchError(addNote(pool, 'locked out'))
    })
    expect(error).toMatchObject({ code: '55P03' })
    expect(isUnavailable(error)).toBe(true)
  })

  test.for([
    ['F-33', 'connect', 'EMFILE'],
    ['F-33', 'getaddrinfo', 'EBUSY'],
    ['F-35', 'getaddrinfo', 'EAI_AGAIN'],
  ] as const)('%s a connection that this machine cannot open: %s %s', ([, syscall, code]) => {
    const error = Object.assign(new Error(`${syscall} ${code}`), { syscall, code })
    expect(isUnavailable(error)).toBe(true)
    // The same code from another system call says nothing about the database.
    expect(isUnavailable(Object.assign(error, { syscall: 'open' }))).toBe(false)
  })

  test('F-35 a host name that does not resolve', async () => {
    // No name below `.invalid` exists (RFC 6761).
    await using unresolvablePool = openPool('postgresql://user@plainpath.invalid/none')
    expect(isUnavailable(await catchError(unresolvablePool.query('select 1')))).toBe(true)
  })

  test('a pool whose connections are all in use for 1 s', async () => {
    await pool.transaction(async () => {
      expect(isUnavailable(await catchError(pool.query('select 1')))).toBe(true)
    })
  })

  test('a read-only server', async () => {
    const write = pool.transaction(async (tx) => {
      await tx.query('set transaction read only')
      await addNote(tx, 'read only')
    })
    expect(isUnavailable(await catchError(write))).toBe(true)
  })

  test('a port without a listener', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    probe.close()
    await using unreachablePool = openPool(`postgresql://user@127.0.0.1:${port}/none`)
    expect(isUnavailable(await catchError(unreachablePool.query('select 1')))).toBe(true)
  })

  test('a server that accepts the connection and never responds', async () => {
    // Without a listener, a socket error such as a reset would end the process.
    const silentServer = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
    try {
      await once(silentServer, 'listening')
      const { port } = silentServer.address() as AddressInfo
      await using silentPool = openPool(`postgresql://user@127.0.0.1:${port}/none`)
      expect(isUnavailable(await catchError(silentPool.query('select 1')))).toBe(true)
    } finally {
      silentServer.close()
    }
  })

  test('a server that stops responding, whose connection is then dropped', async () => {
    await using proxy = await startTcpProxy(database.appUrl)
    await using proxiedPool = openPool(proxy.url, { max: 1 })
    const pidBefore = await readPid(proxiedPool)
    proxy.silence()
    expect(isUnavailable(await catchError(proxiedPool.query('select 1')))).toBe(true)
    proxy.resume()
    expect(await readPid(proxiedPool)).not.toBe(pidBefore)
  })
})

test('prepares a named statement once for each connection, and no statement without a name', async () => {
  const preparedStatements = await pool.transaction(async (tx) => {
    for (const seconds of [0, 0.01]) await tx.query('select from pg_sleep($1)', [seconds], 'rest')
    await tx.query('select from pg_sleep($1)', [0])
    return tx.query('select name, generic_plans + custom_plans as runs from pg_prepared_statements')
  })
  expect(preparedStatements.rows).toEqual([{ name: 'rest', runs: 2 }])
})

test('prepares no statement behind a pooler in transaction mode', async () => {
  await using pooledDb = openPool(database.appUrl, { max: 1, isPooled: true })
  await pooledDb.query('select from pg_sleep($1)', [0], 'rest')
  expect((await pooledDb.query('select name from pg_prepared_statements')).rows).toEqual([])
})

test('prepares named statements in a reserved pool too', async () => {
  await using singlePool = openPool(database.appUrl, { max: 1 })
  const reservedPool = createReservedPool(singlePool, singlePool)
  await reservedPool.query('select from pg_sleep($1)', [0], 'rest')
  const { rows } = await singlePool.query('select name from pg_prepared_statements')
  expect(rows).toEqual([{ name: 'rest' }])
})

describe('a connection that the server ends', () => {
  const terminate = (pid: number | undefined) => admin.query('select pg_terminate_backend($1)', [pid])

  test('while idle is logged and replaced', async () => {
    await terminate(await readPid(pool))
    await vi.waitFor(() =>
      expect(logEntries).toContainEqual(
        expect.objectContaining({ message: 'an idle database connection was lost' }),
      ),
    )
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  })

  test('inside a transaction rolls it back, and the pool stays usable', async () => {
    const work = pool.transaction(async (tx) => {
      await addNote(tx, 'cut off')
      await terminate(await readPid(tx))
      await addNote(tx, 'cut off too')
    })
    expect(isUnavailable(await catchError(work))).toBe(true)
    expect(await countNotes('cut off')).toBe(0)
  })

  test('between two statements of a transaction does not end the process', async () => {
    const work = pool.transaction(async (tx) => {
      const pid = await readPid(tx)
      await terminate(pid)
      await vi.waitFor(async () => {
        const { rowCount } = await admin.query('select from pg_stat_activity where pid = $1', [pid])
        expect(rowCount).toBe(0)
      })
    })
    expect(isUnavailable(await catchError(work))).toBe(true)
  })
})

test('does not let the app role create tables', async () => {
  await expect(pool.query('create table mine ()')).rejects.toMatchObject({ code: '42501' })
})

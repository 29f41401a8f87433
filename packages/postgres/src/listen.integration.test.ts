import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTcpProxy } from '../test/tcp-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../test/test-database.ts'
import { openPool, type Pool } from './database.ts'
import { listen } from './persistent-connection.ts'

let database: TestDatabase
let pool: Pool
let admin: Pool

beforeAll(async () => {
  database = await openTestDatabase({
    folder: path.join(import.meta.dirname, '../test/migrations'),
    name: 'listen',
  })
  pool = openPool(database.appUrl, { patience: 10 })
  admin = openPool(database.adminUrl, { patience: 10 })
})
afterAll(async () => {
  await pool?.[Symbol.asyncDispose]()
  await admin?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

/** Listens on one channel, and records payloads, logged errors and the number of connections. */
async function openListener(
  url = database.appUrl,
  options: { heartbeatMs?: number; onNotification?: () => void } = {},
) {
  const payloads: string[] = []
  const logMessages: string[] = []
  let connectionCount = 0
  const subscription = await listen(
    url,
    {
      'Agents changed': (payload) => {
        payloads.push(payload)
        options.onNotification?.()
      },
    },
    {
      ...options,
      onConnected: () => {
        connectionCount += 1
      },
      log: { error: (message) => void logMessages.push(message) },
    },
  )
  return {
    payloads,
    logMessages,
    countConnections: () => connectionCount,
    [Symbol.asyncDispose]: () => subscription[Symbol.asyncDispose](),
  }
}

const notify = (payload: string) => pool.query('select pg_notify($1, $2)', ['Agents changed', payload])
const FROM_LISTENERS = `from pg_stat_activity where application_name = 'plainpath listen' and datname = current_database()`

test('receives notifications of its channel, with and without a payload', async () => {
  await using listener = await openListener()
  expect(listener.countConnections()).toBe(1)
  await notify('agt_1')
  await pool.query('notify "Agents changed"')
  // The listener does not listen on this channel.
  await pool.query('notify "Agents"')
  await vi.waitFor(() => expect(listener.payloads).toEqual(['agt_1', '']))
})

test('logs an error that a handler throws, and calls the handler for the next notification', async () => {
  await using listener = await openListener(database.appUrl, {
    onNotification: () => {
      throw new Error('cannot')
    },
  })
  await notify('first')
  await notify('second')
  await vi.waitFor(() => expect(listener.payloads).toEqual(['first', 'second']))
  expect(listener.logMessages).toEqual([
    'a notification could not be handled',
    'a notification could not be handled',
  ])
})

test('reconnects when the server closes the connection, and logs the loss', async () => {
  await using listener = await openListener()
  await admin.query(`select pg_terminate_backend(pid) ${FROM_LISTENERS}`)
  await vi.waitFor(() => expect(listener.countConnections()).toBe(2), 5_000)
  await notify('after')
  await vi.waitFor(() => expect(listener.payloads).toEqual(['after']))
  expect(listener.logMessages).toEqual(['a persistent database connection was lost'])
})

test('detects a silent connection, and reconnects', async () => {
  await using proxy = await startTcpProxy(database.appUrl)
  await using listener = await openListener(proxy.url, { heartbeatMs: 50 })
  proxy.silence()
  await notify('lost')
  proxy.resume()
  await vi.waitFor(() => expect(listener.countConnections()).toBe(2), 10_000)
  await notify('after')
  await vi.waitFor(() => expect(listener.payloads).toEqual(['after']))
})

test('retries while the server is down', async () => {
  const proxy = await startTcpProxy(database.appUrl)
  await using listener = await openListener(proxy.url)
  await proxy[Symbol.asyncDispose]()
  const failureMessage = 'a persistent database connection could not be opened'
  await vi.waitFor(() =>
    expect(listener.logMessages.filter((message) => message === failureMessage).length).toBeGreaterThan(2),
  )
})

test('closes its connection when disposed', async () => {
  const listener = await openListener()
  expect((await admin.query(`select ${FROM_LISTENERS}`)).rowCount).toBe(1)
  await listener[Symbol.asyncDispose]()
  expect((await admin.query(`select ${FROM_LISTENERS}`)).rowCount).toBe(0)
})

test('rejects when the first connection fails', async () => {
  const unknownUser = new URL(database.appUrl)
  unknownUser.username = 'no_such_user'
  // SQLSTATE class 28: invalid authorization.
  await expect(openListener(unknownUser.href)).rejects.toMatchObject({ code: expect.stringMatching(/^28/) })
})

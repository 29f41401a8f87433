import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { connect } from './connection.ts'

/** Derives the 64-bit key of an advisory lock from its name. Returns it in decimal. Advisory locks are per database. */
export function toLockKey(name: string): string {
  return createHash('sha256').update(name).digest().readBigInt64BE(0).toString()
}

/** The pause between attempts to acquire a lock that another session holds. */
const RETRY_INTERVAL_MS = 100

/**
 * Acquires the session-level advisory lock `name`, and waits for it if necessary. The session holds it until the
 * connection is closed. This function polls, because a statement that waits for a lock keeps a snapshot open, and a
 * `create index concurrently` in the other session would wait for that snapshot.
 *
 * @throws {Error} if the lock does not become free in time
 */
export async function takeLock(client: pg.Client, name: string, timeoutSeconds: number): Promise<void> {
  for (const deadline = performance.now() + timeoutSeconds * 1_000; !(await tryLock(client, name)); ) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutSeconds} s for the lock "${name}"`)
    await sleep(RETRY_INTERVAL_MS)
  }
}

/**
 * Sets the time that later statements of the session wait for a lock: of a table or row, or an advisory lock. `takeLock`
 * and `tryLock` are not affected, because their statements do not wait.
 */
export async function setLockTimeout(client: pg.Client, seconds: number): Promise<void> {
  await client.query(`select set_config('lock_timeout', $1, false)`, [`${seconds}s`])
}

/**
 * Tries to acquire the session-level advisory lock `name`, without waiting.
 *
 * @returns true if the session now has the lock
 */
export async function tryLock(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
    toLockKey(name),
  ])
  return rows[0]?.held === true
}

/**
 * Acquires the session-level advisory lock `name` over a separate connection, without waiting. The lock is released when
 * the result is disposed of and when the process ends. It is also released when the connection is lost, and the caller
 * does not notice that.
 *
 * @param url the URL of the database. It must not lead to a pooler in transaction mode
 * @returns undefined if another session has the lock
 * @throws the errors of `connect`
 */
export async function holdLock(url: string, name: string): Promise<AsyncDisposable | undefined> {
  await using opening = new AsyncDisposableStack()
  const client = opening.use(await connect(url, { applicationName: 'plainpath lock' }))
  return (await tryLock(client, name)) ? opening.move() : undefined
}

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { connect } from './connection.ts'

/** Derives the 64-bit key of an advisory lock from its name. Advisory locks are per database. */
export function toLockKey(name: string): string {
  return createHash('sha256').update(name).digest().readBigInt64BE(0).toString()
}

/** The pause between attempts to take a lock that another session holds. */
const RETRY_MS = 100

/**
 * Takes the session lock on `name`. The session holds it until the connection is closed. This function polls, because a
 * statement that waits for a lock keeps a snapshot open, and a `create index concurrently` in the other session would
 * wait for that snapshot.
 *
 * @throws {Error} if the lock does not become free in time
 */
export async function takeLock(client: pg.Client, name: string, withinSeconds: number): Promise<void> {
  for (const deadline = performance.now() + withinSeconds * 1_000; !(await tryLock(client, name)); ) {
    if (performance.now() > deadline) throw new Error(`waited ${withinSeconds} s for the lock "${name}"`)
    await sleep(RETRY_MS)
  }
}

export async function setLockTimeout(client: pg.Client, seconds: number): Promise<void> {
  await client.query(`select set_config('lock_timeout', $1, false)`, [`${seconds}s`])
}

/**
 * Tries to take the session lock on `name`.
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
 * Takes the lock on `name` in the database that `url` names, over a separate connection. The lock is released when the
 * result is disposed of, when the connection is lost, and when the process ends.
 *
 * @returns undefined if another session has the lock
 */
export async function holdLock(url: string, name: string): Promise<AsyncDisposable | undefined> {
  await using opening = new AsyncDisposableStack()
  const client = opening.use(await connect(url, { applicationName: 'plainpath lock' }))
  return (await tryLock(client, name)) ? opening.move() : undefined
}

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { connect } from './connection.ts'

/** Derives the 64-bit key of an advisory lock from its name. Advisory locks are per database. */
export function lockKey(name: string): string {
  return createHash('sha256').update(name).digest().readBigInt64BE(0).toString()
}

/** How often a lock that another session holds is tried again. */
const RETRY_MS = 100

/**
 * Takes the session lock on `name`, which the connection then holds until it is closed. It polls, since a statement that
 * waits for a lock holds a snapshot, and `create index concurrently` of the lock's holder would wait for that.
 *
 * @throws if another session holds the lock all the time
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

/** Tries to take the session lock on `name`. @returns true if the session holds it now */
export async function tryLock(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
    lockKey(name),
  ])
  return rows[0]?.held === true
}

/**
 * Holds the lock on `name` in the database of `url` until disposed, over a connection of its own. The lock is lost with the
 * connection and at the end of the process.
 *
 * @returns undefined if another session holds it
 */
export async function holdLock(url: string, name: string): Promise<AsyncDisposable | undefined> {
  await using opening = new AsyncDisposableStack()
  const client = opening.use(await connect(url, { applicationName: 'plainpath lock' }))
  return (await tryLock(client, name)) ? opening.move() : undefined
}

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { connect } from './connection.ts'

/** The 64-bit key under which a name is locked; advisory locks are per database. */
export function lockKey(name: string): string {
  return createHash('sha256').update(name).digest().readBigInt64BE(0).toString()
}

/** How often a lock that somebody else holds is asked for. */
const ASK_MS = 100

/**
 * Waits for the session's lock on `name`, which the connection then holds until it is closed. It asks again and again:
 * a statement that waits for a lock keeps a snapshot, for which `create index concurrently` of the holder would wait.
 *
 * @throws when another session holds the lock all that time.
 */
export async function takeLock(client: pg.Client, name: string, withinSeconds: number): Promise<void> {
  for (const deadline = performance.now() + withinSeconds * 1_000; !(await tryLock(client, name)); ) {
    if (performance.now() > deadline) throw new Error(`waited ${withinSeconds} s for the lock "${name}"`)
    await sleep(ASK_MS)
  }
}

export async function setLockTimeout(client: pg.Client, seconds: number): Promise<void> {
  await client.query(`select set_config('lock_timeout', $1, false)`, [`${seconds}s`])
}

/** @returns whether the session has the lock on `name` now. */
export async function tryLock(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
    lockKey(name),
  ])
  return rows[0]?.held === true
}

/**
 * Holds the lock on `name` in the database of `url` until disposed, over a connection of its own. A lost connection
 * loses the lock, as does the end of the process.
 *
 * @returns undefined when another session holds it.
 */
export async function holdLock(url: string, name: string): Promise<AsyncDisposable | undefined> {
  await using opening = new AsyncDisposableStack()
  const client = opening.use(await connect(url, { applicationName: 'plainpath lock' }))
  return (await tryLock(client, name)) ? opening.move() : undefined
}

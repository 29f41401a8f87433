import { err, ok } from '@plainpath/domain'
import type { Database, Pool } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { type Actor, AuditRow } from '../audit-chain.ts'
import { type AuthEvents, createEvents } from '../events.ts'
import { nextAuditRow } from './key-audit.ts'
import { changed, type KeyRing } from './key-ring.ts'
import { KEY_COLUMNS, privateContext, SECRET_STATES, toRecord, toSigningKey } from './key-row.ts'
import { type KeyStore, type RingChange, type RingView, UnreadableKey } from './key-store.ts'
import { readFollowers } from './postgres-key-followers.ts'

const Version = z.object({ version: z.int(), now: z.date() })
type Row = Record<string, unknown>

/**
 * Signing keys in Postgres, private parts sealed with the key's id as context, so that rows cannot be swapped. Every
 * change holds the lock of the one row of `key_ring`.
 */
export function postgresKeyStore(db: Pool, keys: SealingKeys, events: AuthEvents = createEvents()): KeyStore {
  async function insertKey(tx: Database, change: RingChange, now: Date): Promise<void> {
    const { added } = change
    const made = change.transitions.find(({ kid, from }) => kid === added?.kid && from === undefined)
    if (!added || !made) return
    const sealed = keys.seal(JSON.stringify(added.privateJwk), privateContext(added.kid))
    await tx.query(`insert into signing_keys (${KEY_COLUMNS}) values ($1, $2, $3, $4, $4, $5, $6)`, [
      added.kid,
      added.algorithm,
      made.to,
      now,
      JSON.stringify(added.publicJwk),
      sealed,
    ])
  }

  return {
    async read() {
      const { version, rows } = await readRing(db)
      return { version, keys: rows.map((row) => toSigningKey(row, keys, version)) }
    },
    async inspect() {
      const { version, rows } = await readRing(db)
      return rows.map((row) => {
        try {
          return toSigningKey(row, keys, version)
        } catch (error) {
          if (error instanceof UnreadableKey) return error
          throw error
        }
      })
    },
    async view() {
      const { version, now, rows } = await readRing(db)
      return { ring: { version, keys: rows.map(toRecord) }, followers: await readFollowers(db), now }
    },
    async update(by, decide, options) {
      const done = await db.transaction<Awaited<ReturnType<KeyStore['update']>>>(async (tx) => {
        const view = await lockedView(tx)
        const decided = decide(view)
        if (!decided.ok) return err(decided.error)
        const change = decided.value
        const ring = changed(view.ring, change.transitions, view.now, change.added)
        if (options?.trial) return ok({ change, ring, head: undefined })
        await applyTransitions(tx, change, view.now)
        await insertKey(tx, change, view.now)
        return ok({ change, ring, head: await record(tx, by, change, { ring: ring, now: view.now }) })
      })
      if (done.ok && done.value.head !== undefined) {
        const { step, transitions } = done.value.change
        events.emit('signing-keys-changed', { step, kids: transitions.map(({ kid }) => kid) })
      }
      return done
    },
    async rewrap(by, options) {
      const kids = await db.transaction(async (tx) => {
        const { ring, now } = await lockedView(tx)
        const { rows } = await readRing(tx)
        const moved: string[] = []
        for (const row of rows) {
          const { kid } = toSigningKey(row, keys, ring.version)
          const sealed = row['private_sealed'] as Buffer | null
          const resealed = sealed && keys.reseal(sealed, privateContext(kid))
          if (!resealed) continue
          moved.push(kid)
          if (!options?.trial)
            await tx.query('update signing_keys set private_sealed = $2 where kid = $1', [kid, resealed])
        }
        const change = { step: 'rewrap', transitions: [], reason: `${moved.length} to ${keys.newestId}` }
        if (moved.length > 0 && !options?.trial)
          await record(tx, by, change, { ring: { ...ring, version: ring.version + 1 }, now })
        return moved
      })
      if (kids.length > 0 && !options?.trial) events.emit('signing-keys-changed', { step: 'rewrap', kids })
      return kids
    },
    auditEnd: () => readAuditEnd(db),
    async audit() {
      const { rows } = await db.query('select number, entry, hash from key_audit order by number')
      return rows.map((row) => AuditRow.parse(row))
    },
  }
}

/** One statement, so that version and rows are of one moment. */
async function readRing(db: Database): Promise<{ version: number; now: Date; rows: Row[] }> {
  const { rows } = await db.query(
    `select version, clock_timestamp() as now, ${KEY_COLUMNS} from key_ring left join signing_keys on true
     order by created_at, kid`,
  )
  if (!rows[0]) throw new Error('the table key_ring has lost its row')
  return { ...Version.parse(rows[0]), rows: rows.filter((row) => row['kid'] !== null) }
}

async function lockedView(tx: Database): Promise<RingView> {
  await tx.query('select from key_ring for update')
  const { version, now, rows } = await readRing(tx)
  return { ring: { version, keys: rows.map(toRecord) }, followers: await readFollowers(tx), now }
}

async function applyTransitions(tx: Database, { transitions }: RingChange, now: Date): Promise<void> {
  for (const { kid, from, to } of transitions) {
    if (from === undefined) continue
    const { rowCount } = await tx.query(
      `update signing_keys set state = $3, state_since = $4, private_sealed = case when $5 then private_sealed end
       where kid = $1 and state = $2`,
      [kid, from, to, now, SECRET_STATES.has(to)],
    )
    if (rowCount !== 1) throw new Error(`signing key ${kid} was not ${from}`)
  }
}

async function readAuditEnd(db: Database): Promise<AuditRow | undefined> {
  const { rows } = await db.query('select number, entry, hash from key_audit order by number desc limit 1')
  return rows[0] && AuditRow.parse(rows[0])
}

/** Writes the audit and counts the change. @returns the head of the audit */
async function record(
  tx: Database,
  by: Actor,
  change: RingChange,
  { ring, now }: { ring: KeyRing; now: Date },
): Promise<string> {
  const previous = await readAuditEnd(tx)
  const { step, reason, transitions } = change
  const row = nextAuditRow(previous, {
    at: now.toISOString(),
    by,
    step,
    ...(reason !== undefined && { reason }),
    ring_version: ring.version,
    transitions: transitions.map(({ kid, from, to }) => ({ kid, ...(from && { from }), to })),
  })
  await tx.query('insert into key_audit (number, entry, hash) values ($1, $2, $3)', [
    row.number,
    row.entry,
    row.hash,
  ])
  await tx.query('update key_ring set version = $1', [ring.version])
  return row.hash.toString('base64url')
}

/*
 * Signing keys in PostgreSQL, with private parts encrypted, and their audit. The store applies changes atomically; which
 * change is allowed is decided in `key-ring.ts`.
 */
import { isDeepStrictEqual } from 'node:util'
import { err, ok, type Result } from '@plainpath/domain'
import { type Database, type Pool, rowReader } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { type Actor, auditTable } from '../audit/audit-chain.ts'
import { type AuthEvents, createEvents } from '../events.ts'
import type { AuditEntry } from './key-audit.ts'
import { type Follower, readFollowers } from './key-followers.ts'
import { applyChange, type KeyRefusal, type KeyRing, type Transition } from './key-ring.ts'
import {
  type KeyPair,
  KeyRecord,
  type KeyState,
  PrivateJwk,
  publicPart,
  type SigningKey,
  thumbprint,
} from './signing-key.ts'

/** A private key that cannot be decrypted, or a row that is inconsistent. An operator has to resolve it. */
export class UnreadableKey extends Error {
  override readonly name = 'UnreadableKey'
  readonly kid: string
  readonly ringVersion: number

  constructor(kid: string, ringVersion: number, options?: ErrorOptions) {
    super(`signing key ${kid} cannot be read`, options)
    this.kid = kid
    this.ringVersion = ringVersion
  }
}

/** The ring without private keys, and what decides about a step. `now` is the database's clock. */
export interface RingView {
  readonly ring: KeyRing
  readonly followers: readonly Follower[]
  readonly now: Date
}

export interface RingChange {
  readonly step: string
  readonly transitions: readonly Transition[]
  /** The key that this change adds to the ring. */
  readonly added?: KeyPair
  readonly reason?: string
}

export interface AppliedChange {
  readonly change: RingChange
  /** After the change. */
  readonly ring: KeyRing
  /** Head of the audit after the change; undefined for a trial. */
  readonly head: string | undefined
}

const RingRow = z.object({ version: z.int(), now: z.date() })
type Row = Record<string, unknown>
const AUDIT = auditTable('key_audit')

/**
 * Opens the store. Every change locks the single row of `key_ring`.
 */
export function postgresKeyStore(db: Pool, keys: SealingKeys, events: AuthEvents = createEvents()) {
  async function insertKey(tx: Database, change: RingChange, now: Date): Promise<void> {
    const { added } = change
    const made = change.transitions.find(({ kid, from }) => kid === added?.kid && from === undefined)
    if (!added || !made) return
    const sealed = keys.seal(JSON.stringify(added.privateJwk), privateKeyEncryptionContext(added.kid))
    await tx.query(`insert into signing_keys (${SealedKeyRow.columns}) values ($1, $2, $3, $4, $4, $5, $6)`, [
      added.kid,
      added.algorithm,
      made.to,
      now,
      JSON.stringify(added.publicJwk),
      sealed,
    ])
  }

  return {
    /**
     * Reads every key with its private part, oldest first.
     *
     * @throws {UnreadableKey}
     */
    async read(): Promise<{ version: number; keys: readonly SigningKey[] }> {
      const { version, rows } = await readRing(db)
      return { version, keys: rows.map((row) => toSigningKey(row, keys, version)) }
    },
    /** Reads each key, or why it cannot be read. */
    async inspect(): Promise<readonly (SigningKey | UnreadableKey)[]> {
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
    /** Reads the ring without decrypting anything. */
    async view(): Promise<RingView> {
      const { version, now, rows } = await readRing(db)
      return { ring: { version, keys: rows.map(KeyRow.parse) }, followers: await readFollowers(db), now }
    },
    /**
     * Decides on and applies one change under the lock, together with its audit row. Erases a private key whose new
     * state does not need it. Decrypts no key.
     *
     * @param options.trial decides, but changes nothing
     */
    async update(
      by: Actor,
      decide: (view: RingView) => Result<RingChange, KeyRefusal>,
      options?: { trial?: boolean | undefined },
    ): Promise<Result<AppliedChange, KeyRefusal>> {
      const done = await db.transaction<Result<AppliedChange, KeyRefusal>>(async (tx) => {
        const view = await lockedView(tx)
        const decided = decide(view)
        if (!decided.ok) return err(decided.error)
        const change = decided.value
        const ring = applyChange(view.ring, change.transitions, view.now, change.added)
        if (options?.trial) return ok({ change, ring, head: undefined })
        await applyTransitions(tx, change, view.now)
        await insertKey(tx, change, view.now)
        return ok({ change, ring, head: await writeAudit(tx, by, change, { ring, now: view.now }) })
      })
      if (done.ok && done.value.head !== undefined) {
        const { step, transitions } = done.value.change
        events.emit('signing-keys-changed', { step, kids: transitions.map(({ kid }) => kid) })
      }
      return done
    },
    /**
     * Re-encrypts every private key under the newest key-encryption key.
     *
     * @returns the kids of the keys that were under another one
     * @throws {UnreadableKey} and changes nothing
     */
    async rewrap(by: Actor, options?: { trial?: boolean | undefined }): Promise<readonly string[]> {
      const kids = await db.transaction(async (tx) => {
        const { ring, now } = await lockedView(tx)
        const { rows } = await readRing(tx)
        const moved: string[] = []
        for (const row of rows) {
          const { kid } = toSigningKey(row, keys, ring.version)
          const sealed = row['private_sealed'] as Buffer | null
          const resealed = sealed && keys.reseal(sealed, privateKeyEncryptionContext(kid))
          if (!resealed) continue
          moved.push(kid)
          if (!options?.trial)
            await tx.query('update signing_keys set private_sealed = $2 where kid = $1', [kid, resealed])
        }
        const change = { step: 'rewrap', transitions: [], reason: `${moved.length} to ${keys.newestId}` }
        if (moved.length > 0 && !options?.trial)
          await writeAudit(tx, by, change, { ring: { ...ring, version: ring.version + 1 }, now })
        return moved
      })
      if (kids.length > 0 && !options?.trial) events.emit('signing-keys-changed', { step: 'rewrap', kids })
      return kids
    },
    /** Reads the last row of the audit; undefined while it is empty. */
    auditEnd: () => AUDIT.end(db),
    audit: () => AUDIT.all(db),
  }
}

export type KeyStore = ReturnType<typeof postgresKeyStore>

/** Reads version and rows in one statement, so that they belong together. */
async function readRing(db: Database): Promise<{ version: number; now: Date; rows: Row[] }> {
  const { rows } = await db.query(
    `select version, clock_timestamp() as now, ${SealedKeyRow.columns} from key_ring left join signing_keys on true
     order by created_at, kid`,
  )
  if (!rows[0]) throw new Error('the table key_ring has lost its row')
  return { ...RingRow.parse(rows[0]), rows: rows.filter((row) => row['kid'] !== null) }
}

async function lockedView(tx: Database): Promise<RingView> {
  await tx.query('select from key_ring for update')
  const { version, now, rows } = await readRing(tx)
  return { ring: { version, keys: rows.map(KeyRow.parse) }, followers: await readFollowers(tx), now }
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

/** Appends to the audit and stores the new version of the ring. @returns the head of the audit */
async function writeAudit(
  tx: Database,
  by: Actor,
  change: RingChange,
  { ring, now }: { ring: KeyRing; now: Date },
): Promise<string> {
  const { step, reason, transitions } = change
  const entry: AuditEntry = {
    at: now.toISOString(),
    by,
    step,
    ...(reason !== undefined && { reason }),
    ring_version: ring.version,
    transitions: transitions.map(({ kid, from, to }) => ({ kid, ...(from && { from }), to })),
  }
  const head = await AUDIT.append(tx, entry)
  await tx.query('update key_ring set version = $1', [ring.version])
  return head
}

/** The states in which a key has a private part. */
const SECRET_STATES: ReadonlySet<KeyState> = new Set(['generated', 'published', 'signing'])

const KeyRow = rowReader(KeyRecord)
const SealedKeyRow = rowReader(KeyRecord.extend({ privateSealed: z.instanceof(Buffer).optional() }))

/** Binds an encrypted private key to its kid (associated data), so that rows cannot be swapped. */
const privateKeyEncryptionContext = (kid: string) => `signing_keys/${kid}`

/** Decrypts and checks a row. @throws {UnreadableKey} when it is inconsistent or cannot be decrypted */
function toSigningKey(row: Row, keys: SealingKeys, ringVersion: number): SigningKey {
  const kid = String(row['kid'])
  try {
    const { privateSealed: sealed, ...record } = SealedKeyRow.parse(row)
    const privateJwk = sealed ? openPrivate(sealed, kid, keys) : undefined
    const { publicJwk, algorithm, state } = record
    const named = publicJwk.kid === kid && publicJwk.alg === algorithm && thumbprint(publicJwk) === kid
    const matches = privateJwk === undefined || isDeepStrictEqual(publicPart(privateJwk), publicJwk)
    if (!named || !matches || SECRET_STATES.has(state) !== (privateJwk !== undefined))
      throw new Error('its row contradicts itself')
    return { ...record, privateJwk }
  } catch (cause) {
    throw new UnreadableKey(kid, ringVersion, { cause })
  }
}

const openPrivate = (sealed: Buffer, kid: string, keys: SealingKeys) =>
  PrivateJwk.parse(JSON.parse(keys.open(sealed, privateKeyEncryptionContext(kid)).toString('utf8')))

/*
 * Stores signing keys in PostgreSQL, with encrypted private keys and an audit trail. The store applies changes atomically;
 * `key-ring.ts` decides which changes are allowed.
 */
import { isDeepStrictEqual } from 'node:util'
import { err, ok, type Result } from '@plainpath/domain'
import { createRowReader, type Database, type Pool } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { z } from 'zod'
import { type Actor, type AuditRow, createAuditTable } from '../audit/audit-chain.ts'
import { type AuthEvents, createEvents } from '../events.ts'
import type { KeyAuditEntry } from './key-audit.ts'
import { type Follower, readFollowers } from './key-follower-store.ts'
import { applyChange, type KeyRefusal, type KeyRing, type Transition } from './key-ring.ts'
import {
  computeThumbprint,
  type KeyPair,
  KeyRecord,
  type KeyState,
  PrivateJwk,
  type SigningKey,
  toPublicJwk,
} from './signing-key.ts'

/** The error for a private key that cannot be decrypted, or whose row is inconsistent. An operator must resolve it. */
export class UnreadableKey extends Error {
  override readonly name = 'UnreadableKey'
  readonly kid: string
  /** The version of the ring that was read. It shows an instance whether the ring differs from the one that it has adopted. */
  readonly ringVersion: number

  constructor(kid: string, ringVersion: number, options?: ErrorOptions) {
    super(`signing key ${kid} cannot be read`, options)
    this.kid = kid
    this.ringVersion = ringVersion
  }
}

/** The ring without private keys, and the facts that decide whether a change is allowed. `now` is the time of the database. */
export interface RingView {
  readonly ring: KeyRing
  readonly followers: readonly Follower[]
  readonly now: Date
}

export interface RingChange {
  /** The name of the step, for the audit trail and the event. */
  readonly step: string
  readonly transitions: readonly Transition[]
  /** A new key. The change adds it to the ring if a transition names it. */
  readonly added?: KeyPair
  /** A note for the audit trail, such as the reason that the operator gave. */
  readonly reason?: string
}

export interface AppliedChange {
  readonly change: RingChange
  /** The ring after the change. */
  readonly ring: KeyRing
  /** The audit head after the change; undefined for a dry run. */
  readonly auditHead: string | undefined
}

const RingRow = z.object({ version: z.int(), now: z.date() })
/** A row as it was read, before it is parsed. */
type UnparsedRow = Record<string, unknown>
const AUDIT = createAuditTable('key_audit')

/** Stores the key ring. Every change locks the single row of `key_ring`. */
export interface KeyStore {
  /**
   * Reads all keys, oldest first, and decrypts their private keys.
   *
   * @throws {UnreadableKey}
   */
  read(): Promise<{ version: number; keys: readonly SigningKey[] }>
  /** Reads all keys as `read` does, but returns an error in place of each key that cannot be read. */
  inspect(): Promise<readonly (SigningKey | UnreadableKey)[]>
  /** Reads the ring without decrypting anything. */
  view(): Promise<RingView>
  /**
   * Locks the ring, calls `decide`, and applies the change together with its audit row. Erases a private key if the key's new
   * state does not need it. Decrypts no private key.
   *
   * @param options.dryRun true to call `decide` without changing anything
   * @returns the refusal if `decide` returned one
   */
  update(
    actor: Actor,
    decide: (view: RingView) => Result<RingChange, KeyRefusal>,
    options?: { dryRun?: boolean | undefined },
  ): Promise<Result<AppliedChange, KeyRefusal>>
  /**
   * Re-encrypts every private key under the newest key-encryption key.
   *
   * @returns the kids of the keys that were encrypted under an older key-encryption key
   * @throws {UnreadableKey} without changing anything
   */
  reencrypt(actor: Actor, options?: { dryRun?: boolean | undefined }): Promise<readonly string[]>
  /** Reads the last audit row; undefined if the audit log is empty. */
  readLastAuditRow(): Promise<AuditRow | undefined>
  readAudit(): Promise<readonly AuditRow[]>
}

export function createKeyStore(db: Pool, sealer: Sealer, events: AuthEvents = createEvents()): KeyStore {
  /** Inserts `change.added` with its encrypted private key, if a transition adds it. */
  async function insertKey(tx: Database, change: RingChange, now: Date): Promise<void> {
    const { added: newKey } = change
    const addition = change.transitions.find(({ kid, from }) => kid === newKey?.kid && from === undefined)
    if (!newKey || !addition) return
    const sealed = sealer.seal(JSON.stringify(newKey.privateJwk), toEncryptionContext(newKey.kid))
    await tx.query(`insert into signing_keys (${SealedKeyRow.columns}) values ($1, $2, $3, $4, $4, $5, $6)`, [
      newKey.kid,
      newKey.algorithm,
      addition.to,
      now,
      JSON.stringify(newKey.publicJwk),
      sealed,
    ])
  }

  return {
    async read() {
      const { version, rows } = await readRing(db)
      return { version, keys: rows.map((row) => toSigningKey(row, sealer, version)) }
    },
    async inspect() {
      const { version, rows } = await readRing(db)
      return rows.map((row) => {
        try {
          return toSigningKey(row, sealer, version)
        } catch (error) {
          if (error instanceof UnreadableKey) return error
          throw error
        }
      })
    },
    async view() {
      const { version, now, rows } = await readRing(db)
      return { ring: { version, keys: rows.map(KeyRow.parse) }, followers: await readFollowers(db), now }
    },
    async update(actor, decide, options) {
      const result = await db.transaction<Result<AppliedChange, KeyRefusal>>(async (tx) => {
        const view = await lockAndReadView(tx)
        const decision = decide(view)
        if (!decision.ok) return err(decision.error)
        const change = decision.value
        const ring = applyChange(view.ring, change.transitions, view.now, change.added)
        if (options?.dryRun) return ok({ change, ring, auditHead: undefined })
        await applyTransitions(tx, change, view.now)
        await insertKey(tx, change, view.now)
        return ok({ change, ring, auditHead: await writeAudit(tx, actor, change, { ring, now: view.now }) })
      })
      if (result.ok && result.value.auditHead !== undefined) {
        const { step, transitions } = result.value.change
        events.emit('signing-keys-changed', { step, kids: transitions.map(({ kid }) => kid) })
      }
      return result
    },
    async reencrypt(actor, options) {
      const kids = await db.transaction(async (tx) => {
        const { ring, now } = await lockAndReadView(tx)
        const { rows } = await readRing(tx)
        const resealedKids: string[] = []
        for (const row of rows) {
          // Decrypts and checks every key, so one unreadable key rolls the whole change back.
          const { kid } = toSigningKey(row, sealer, ring.version)
          const sealed = row['private_sealed'] as Buffer | null
          const resealed = sealed && sealer.reseal(sealed, toEncryptionContext(kid))
          if (!resealed) continue
          resealedKids.push(kid)
          if (!options?.dryRun)
            await tx.query('update signing_keys set private_sealed = $2 where kid = $1', [kid, resealed])
        }
        const change = {
          // The name of the command that re-encrypts.
          step: 'rewrap',
          transitions: [],
          reason: `${resealedKids.length} to ${sealer.newestKeyId}`,
        }
        if (resealedKids.length > 0 && !options?.dryRun)
          await writeAudit(tx, actor, change, { ring: { ...ring, version: ring.version + 1 }, now })
        return resealedKids
      })
      if (kids.length > 0 && !options?.dryRun) events.emit('signing-keys-changed', { step: 'rewrap', kids })
      return kids
    },
    readLastAuditRow: () => AUDIT.readLast(db),
    readAudit: () => AUDIT.readAll(db),
  }
}

/** Reads the version and the keys in one statement, so they are consistent. The time is the time of the database. */
async function readRing(db: Database): Promise<{ version: number; now: Date; rows: UnparsedRow[] }> {
  const { rows } = await db.query(
    `select version, clock_timestamp() as now, ${SealedKeyRow.columns} from key_ring left join signing_keys on true
     order by created_at, kid`,
  )
  if (!rows[0]) throw new Error('the table key_ring has no row')
  return { ...RingRow.parse(rows[0]), rows: rows.filter((row) => row['kid'] !== null) }
}

/** Locks the ring until the end of the transaction, so that changes run one after the other. Then reads the ring and the time. */
async function lockAndReadView(tx: Database): Promise<RingView> {
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
      [kid, from, to, now, STATES_WITH_PRIVATE_KEY.has(to)],
    )
    if (rowCount !== 1) throw new Error(`signing key ${kid} is not in the state ${from}`)
  }
}

/**
 * Appends an audit row and stores the new ring version.
 *
 * @returns the new audit head
 */
async function writeAudit(
  tx: Database,
  actor: Actor,
  change: RingChange,
  { ring, now }: { ring: KeyRing; now: Date },
): Promise<string> {
  const { step, reason, transitions } = change
  const entry: KeyAuditEntry = {
    at: now.toISOString(),
    by: actor,
    step,
    ...(reason !== undefined && { reason }),
    ring_version: ring.version,
    transitions: transitions.map(({ kid, from, to }) => ({ kid, ...(from && { from }), to })),
  }
  const head = await AUDIT.append(tx, entry)
  await tx.query('update key_ring set version = $1', [ring.version])
  return head
}

/** The states in which a private key is stored. */
const STATES_WITH_PRIVATE_KEY: ReadonlySet<KeyState> = new Set(['generated', 'published', 'signing'])

const KeyRow = createRowReader(KeyRecord)
const SealedKeyRow = createRowReader(KeyRecord.extend({ privateSealed: z.instanceof(Buffer).optional() }))

/** Returns the encryption context. It binds an encrypted private key to its kid: in another row, it cannot be decrypted. */
const toEncryptionContext = (kid: string) => `signing_keys/${kid}`

/**
 * Decrypts the private key of a row, and checks that the row is consistent.
 *
 * @throws {UnreadableKey} if the row is inconsistent or its private key cannot be decrypted
 */
function toSigningKey(row: UnparsedRow, sealer: Sealer, ringVersion: number): SigningKey {
  const kid = String(row['kid'])
  try {
    const { privateSealed: sealed, ...record } = SealedKeyRow.parse(row)
    const privateJwk = sealed ? decryptPrivateKey(sealed, kid, sealer) : undefined
    const { publicJwk, algorithm, state } = record
    const hasValidKid =
      publicJwk.kid === kid && publicJwk.alg === algorithm && computeThumbprint(publicJwk) === kid
    const isKeyPair = privateJwk === undefined || isDeepStrictEqual(toPublicJwk(privateJwk), publicJwk)
    if (!hasValidKid || !isKeyPair || STATES_WITH_PRIVATE_KEY.has(state) !== (privateJwk !== undefined))
      throw new Error('the row is inconsistent')
    return { ...record, privateJwk }
  } catch (cause) {
    throw new UnreadableKey(kid, ringVersion, { cause })
  }
}

const decryptPrivateKey = (sealed: Buffer, kid: string, sealer: Sealer) =>
  PrivateJwk.parse(JSON.parse(sealer.unseal(sealed, toEncryptionContext(kid)).toString('utf8')))

/*
 * Stores oidc-provider's records of sign-ins in PostgreSQL: interactions, grants, authorization codes and refresh tokens. Ids
 * are stored as SHA-256, because the id of a code or refresh token is the secret itself. Contents are encrypted. The adapters are
 * in `app-adapters.ts`.
 *
 * The library repeats the id in the content, as `jti`. `find` does not need it there, but release 0.2.0 does, which may run
 * beside this one or after a rollback. The release after the next leaves it out; a test fails until it does.
 */
import { RULES } from '@plainpath/domain'
import { createRowReader, type Database, deleteBatch, type Pool, rewriteColumn } from '@plainpath/postgres'
import { type Sealer, sha256Base64url, unsealIfPossible } from '@plainpath/sealing'
import type { AdapterPayload } from 'oidc-provider'
import { z } from 'zod'

export type RecordModel = 'Interaction' | 'Grant' | 'AuthorizationCode' | 'RefreshToken'

interface OAuthRecord {
  readonly payload: AdapterPayload
  /** The revocation epoch when the record was first stored. */
  readonly epoch: number
  /** When the record was first used; undefined before that. */
  readonly consumedAt: Date | undefined
}

const OAuthRecordRow = createRowReader(
  z.object({
    payloadSealed: z.instanceof(Buffer),
    epoch: z.int(),
    consumedAt: z.date().optional(),
  }),
)

export interface OAuthRecordStore {
  /** Finds a record, used or not, unless it has expired, an emergency revocation covers it, or it cannot be decrypted. */
  find(model: RecordModel, id: string): Promise<OAuthRecord | undefined>
  /**
   * Stores a record, or replaces its content.
   *
   * @param lifetimeSeconds the lifetime from now
   */
  save(model: RecordModel, id: string, payload: AdapterPayload, lifetimeSeconds: number): Promise<void>
  /**
   * Returns whether the grant of a refresh token may get another one. All its refresh tokens count. Used ones stay stored until they
   * expire, so that their reuse is detected. Simultaneous requests may exceed the limit by a few tokens.
   */
  mayRefresh(refreshToken: string): Promise<boolean>
  /**
   * Marks a record as used, durably. A second use does not change the time of the first.
   *
   * @returns false if it was used before, or there is no such record
   */
  consume(model: RecordModel, id: string): Promise<boolean>
  /** Marks a record as unused again, after its use has failed. */
  release(model: RecordModel, id: string): Promise<void>
  /**
   * Removes a record.
   *
   * @returns false if there is no such record
   */
  remove(model: RecordModel, id: string): Promise<boolean>
}

export function createOAuthRecordStore(
  db: Pool,
  deps: { sealer: Sealer; now: () => Date },
): OAuthRecordStore {
  const { sealer, now } = deps
  return {
    async find(model, id) {
      const storedId = toStoredId(model, id)
      const { rows } = await db.query(
        `select payload_sealed, oauth_records.epoch, consumed_at from oauth_records cross join token_stop
         where id = $1 and expires_at > $2 and oauth_records.epoch >= token_stop.epoch
           and created_at >= coalesce(token_stop.issued_before, created_at)`,
        [storedId, now()],
      )
      if (!rows[0]) return undefined
      const { payloadSealed, epoch, consumedAt } = OAuthRecordRow.parse(rows[0])
      const payload = unsealIfPossible(() => sealer.unseal(payloadSealed, toEncryptionContext(storedId)))
      if (!payload) return undefined
      const content = JSON.parse(payload.toString('utf8')) as AdapterPayload
      return { payload: { ...content, jti: id }, epoch, consumedAt }
    },

    async save(model, id, payload, lifetimeSeconds) {
      const storedId = toStoredId(model, id)
      const savedAt = now()
      const grantId = typeof payload.grantId === 'string' ? toStoredId('Grant', payload.grantId) : null
      await db.query(
        `insert into oauth_records (id, grant_id, payload_sealed, epoch, created_at, expires_at)
         values ($1, $2, $3, (select epoch from token_stop), $4, $5)
         on conflict (id) do update set payload_sealed = excluded.payload_sealed, expires_at = excluded.expires_at`,
        [
          storedId,
          grantId,
          sealer.seal(JSON.stringify(payload), toEncryptionContext(storedId)),
          savedAt,
          new Date(savedAt.getTime() + lifetimeSeconds * 1000),
        ],
      )
    },

    async mayRefresh(refreshToken) {
      const { rows } = await db.query<{ count: number }>(
        `select count(*)::int from oauth_records where id like 'RefreshToken:%'
           and grant_id = (select grant_id from oauth_records where id = $1)`,
        [toStoredId('RefreshToken', refreshToken)],
      )
      // The query always returns a row.
      return (rows[0]?.count ?? 0) < RULES.refreshTokens
    },

    async consume(model, id) {
      const { rowCount } = await db.query(
        `update oauth_records set consumed_at = $2 where id = $1 and consumed_at is null
           and set_config('synchronous_commit', 'on', true) = 'on'`,
        [toStoredId(model, id), now()],
      )
      return rowCount === 1
    },

    async release(model, id) {
      await db.query('update oauth_records set consumed_at = null where id = $1', [toStoredId(model, id)])
    },

    async remove(model, id) {
      const { rowCount } = await db.query('delete from oauth_records where id = $1', [toStoredId(model, id)])
      return rowCount === 1
    },
  }
}

const toStoredId = (model: RecordModel, id: string) => `${model}:${sha256Base64url(id)}`
const toEncryptionContext = (storedId: string) => `oauth_records/${storedId}`

/**
 * Deletes at most 1,000 expired records.
 *
 * @returns the number of deleted records
 */
export const sweepOAuthRecords = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'oauth_records', keyColumn: 'id', where: 'expires_at <= $1' }, [now])

/**
 * Re-encrypts records under the newest key-encryption key.
 *
 * @returns the number of records under an older key
 * @throws {UnsealError} if a record cannot be decrypted
 */
export const reencryptOAuthRecords = (
  db: Pool,
  sealer: Sealer,
  options: { dryRun: boolean },
): Promise<number> =>
  rewriteColumn(
    db,
    {
      table: 'oauth_records',
      column: 'payload_sealed',
      keyColumn: 'id',
      rewrite: (sealed, id) => sealer.reseal(sealed, toEncryptionContext(id)),
    },
    options,
  )

/*
 * What oidc-provider stores about sign-ins, in PostgreSQL: interactions, grants, authorization codes and refresh tokens. Ids
 * are stored as SHA-256 and contents encrypted, since both hold what an app could use. Adapters are in
 * `app-adapters.ts`.
 */
import { type Database, deleteBatch, type Pool, rewriteColumn, rowReader } from '@plainpath/postgres'
import { openIfPossible, type SealingKeys, sha256 } from '@plainpath/sealing'
import type { AdapterPayload } from 'oidc-provider'
import { z } from 'zod'

export type RecordModel = 'Interaction' | 'Grant' | 'AuthorizationCode' | 'RefreshToken'

export interface OAuthRecord {
  readonly payload: AdapterPayload
  /** The emergency revocation epoch in which it was stored first. */
  readonly epoch: number
  /** When it was first used. */
  readonly consumedAt: Date | undefined
}

/**
 * Refresh tokens that are stored per grant, used ones included. A grant that is refreshed every eight hours has 90 in the
 * lifetime of its claim. An older one that is presented again is unknown: refused, but not noticed as reused.
 */
const MAX_REFRESH_TOKENS = 100

const Row = rowReader(
  z.object({
    payloadSealed: z.instanceof(Buffer),
    epoch: z.int(),
    consumedAt: z.date().optional(),
  }),
)

export type OAuthRecordStore = ReturnType<typeof oauthRecordStore>

/** Opens the store. */
export function oauthRecordStore(db: Pool, deps: { sealingKeys: SealingKeys; now: () => Date }) {
  const { sealingKeys, now } = deps
  return {
    /** Finds a record that has not expired and that no emergency revocation covers. Used ones are found too. */
    async find(model: RecordModel, id: string): Promise<OAuthRecord | undefined> {
      const storedId = toStoredId(model, id)
      const { rows } = await db.query(
        `select payload_sealed, oauth_records.epoch, consumed_at from oauth_records cross join token_stop
         where id = $1 and expires_at > $2 and oauth_records.epoch >= token_stop.epoch
           and created_at >= coalesce(token_stop.issued_before, created_at)`,
        [storedId, now()],
      )
      if (!rows[0]) return undefined
      const { payloadSealed, epoch, consumedAt } = Row.parse(rows[0])
      const opened = openIfPossible(() => sealingKeys.open(payloadSealed, encryptionContext(storedId)))
      if (!opened) return undefined
      return { payload: JSON.parse(opened.toString('utf8')) as AdapterPayload, epoch, consumedAt }
    },

    /** Stores a record, or replaces its content. @param lifetimeSeconds from now */
    async save(
      model: RecordModel,
      id: string,
      payload: AdapterPayload,
      lifetimeSeconds: number,
    ): Promise<void> {
      const storedId = toStoredId(model, id)
      const at = now()
      const grantId = typeof payload.grantId === 'string' ? toStoredId('Grant', payload.grantId) : null
      await db.query(
        `insert into oauth_records (id, grant_id, payload_sealed, epoch, created_at, expires_at)
         values ($1, $2, $3, (select epoch from token_stop), $4, $5)
         on conflict (id) do update set payload_sealed = excluded.payload_sealed, expires_at = excluded.expires_at`,
        [
          storedId,
          grantId,
          sealingKeys.seal(JSON.stringify(payload), encryptionContext(storedId)),
          at,
          new Date(at.getTime() + lifetimeSeconds * 1000),
        ],
      )
      if (model === 'RefreshToken') await db.query(REMOVE_OLDEST, [grantId])
    },

    /** Marks a record as used, durably. The time of the first use stays. @returns false when it was used before */
    async consume(model: RecordModel, id: string): Promise<boolean> {
      const { rowCount } = await db.query(
        `update oauth_records set consumed_at = $2 where id = $1 and consumed_at is null
           and set_config('synchronous_commit', 'on', true) = 'on'`,
        [toStoredId(model, id), now()],
      )
      return rowCount === 1
    },

    /** @returns false when there is no such record */
    async remove(model: RecordModel, id: string): Promise<boolean> {
      const { rowCount } = await db.query('delete from oauth_records where id = $1', [toStoredId(model, id)])
      return rowCount === 1
    },
  }
}

const toStoredId = (model: RecordModel, id: string) => `${model}:${sha256(id).toString('base64url')}`
const encryptionContext = (storedId: string) => `oauth_records/${storedId}`

const REMOVE_OLDEST = `
  delete from oauth_records where grant_id = $1 and id like 'RefreshToken:%' and (created_at, id) <=
    (select created_at, id from oauth_records where grant_id = $1 and id like 'RefreshToken:%'
     order by created_at desc, id desc offset ${MAX_REFRESH_TOKENS} limit 1)`

/** Deletes at most 1 000 expired records. @returns how many */
export const sweepOAuthRecords = (db: Database, now: Date): Promise<number> =>
  deleteBatch(db, { table: 'oauth_records', key: 'id', where: 'expires_at <= $1' }, [now])

/** Re-encrypts records under the newest key-encryption key. @returns how many were under an older one @throws {SealError} */
export const rewrapOAuthRecords = (
  db: Pool,
  sealingKeys: SealingKeys,
  options: { trial: boolean },
): Promise<number> =>
  rewriteColumn(
    db,
    {
      table: 'oauth_records',
      column: 'payload_sealed',
      key: 'id',
      rewrite: (sealed, id) => sealingKeys.reseal(sealed, encryptionContext(id)),
    },
    options,
  )

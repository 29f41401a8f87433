/*
 * Apps in PostgreSQL: registered ones, and what was read of the documents of those that are known by a URL, so that all
 * instances share one fetch. When to fetch is decided in `app-client-finder.ts`.
 */
import { randomBytes } from 'node:crypto'
import { AgentKey, RULES } from '@plainpath/domain'
import { type Database, deleteBatch, type Pool, rewriteColumn, rowReader } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import type { AppMetadata } from './app-metadata.ts'

export interface StoredAppClient extends AppMetadata {
  readonly id: string
  readonly registeredAt: Date
  /** When a person last signed in with it, a day at most too early. */
  readonly usedAt?: Date | undefined
  /** Of the document at its URL; absent for a registered app. */
  readonly documentFetchedAt?: Date | undefined
  readonly documentExpiresAt?: Date | undefined
}

const Row = rowReader(
  z.object({
    id: z.string(),
    redirectUris: z.array(z.string()),
    nameSealed: z.instanceof(Buffer).optional(),
    applicationType: z.enum(['web', 'native']),
    authMethod: z.enum(['none', 'private_key_jwt']),
    jwks: z.array(AgentKey).default([]),
    registeredAt: z.date(),
    usedAt: z.date().optional(),
    documentFetchedAt: z.date().optional(),
    documentExpiresAt: z.date().optional(),
  }),
)

/** Binds an encrypted name to its app (associated data), so that rows cannot be swapped. */
const nameContext = (id: string) => `app_clients/${id}/name`

export type AppClientStore = ReturnType<typeof appClientStore>

/** Opens the store. */
export function appClientStore(db: Pool, sealingKeys: SealingKeys) {
  const values = (id: string, { redirectUris, name, applicationType, authMethod, keys }: AppMetadata) => [
    id,
    redirectUris,
    name === undefined ? null : sealingKeys.seal(name, nameContext(id)),
    applicationType,
    authMethod,
    keys.length > 0 ? JSON.stringify(keys) : null,
  ]

  return {
    /** Stores an app that registers, under a random id. @returns the id: `app_` and 22 characters */
    async add(metadata: AppMetadata, now: Date): Promise<string> {
      const id = `app_${randomBytes(16).toString('base64url')}`
      await db.query(
        `insert into app_clients (id, redirect_uris, name_sealed, application_type, auth_method, jwks, registered_at)
         values ($1, $2, $3, $4, $5, $6::jsonb, $7)`,
        [...values(id, metadata), now],
      )
      return id
    },

    /**
     * Stores what was read of the document at `id`. A document that was requested before the stored one is ignored: it may
     * hold what was removed since.
     */
    async saveDocument(
      id: string,
      metadata: AppMetadata,
      { fetchedAt, expiresAt }: { readonly fetchedAt: Date; readonly expiresAt: Date },
    ): Promise<void> {
      await db.query(SAVE, [...values(id, metadata), fetchedAt, expiresAt])
    },

    async find(id: string): Promise<StoredAppClient | undefined> {
      const { rows } = await db.query(`select ${Row.columns} from app_clients where id = $1`, [id])
      if (!rows[0]) return undefined
      const { nameSealed, jwks: keys, ...row } = Row.parse(rows[0])
      if (!nameSealed) return { ...row, keys }
      return { ...row, keys, name: sealingKeys.open(nameSealed, nameContext(id)).toString('utf8') }
    },

    /** Records that a person uses the app, at most once a day. An app without a row, of which a copy is used, has no record. */
    async markUsed(id: string, now: Date): Promise<void> {
      await db.query(
        'update app_clients set used_at = $2 where id = $1 and (used_at is null or used_at <= $3)',
        [id, now, new Date(now.getTime() - RULES.useRecordedMs)],
      )
    },

    /** Re-encrypts names under the newest key-encryption key. @returns how many were under an older one @throws {SealError} */
    rewrapNames: (options: { trial: boolean }): Promise<number> =>
      rewriteColumn(
        db,
        {
          table: 'app_clients',
          column: 'name_sealed',
          key: 'id',
          rewrite: (sealed, id) => sealingKeys.reseal(sealed, nameContext(id)),
        },
        options,
      ),
  }
}

const SAVE = `
  insert into app_clients (id, redirect_uris, name_sealed, application_type, auth_method, jwks, registered_at,
    document_fetched_at, document_expires_at)
  values ($1, $2, $3, $4, $5, $6::jsonb, $7, $7, $8)
  on conflict (id) do update
    set redirect_uris = excluded.redirect_uris, name_sealed = excluded.name_sealed,
        application_type = excluded.application_type, auth_method = excluded.auth_method, jwks = excluded.jwks,
        document_fetched_at = excluded.document_fetched_at, document_expires_at = excluded.document_expires_at
    where app_clients.document_fetched_at <= excluded.document_fetched_at`

const UNUSED = 'used_at is null'

/**
 * Deletes a batch of apps that nobody used for a day, or the oldest of too many of them, and of those that were not used for
 * longer than any claim lasts.
 *
 * @param unused how many apps that nobody used may exist, not counting those younger than an hour
 * @returns how many were deleted; 0 when none is left
 */
export function sweepAppClients(db: Database, now: Date, unused: number): Promise<number> {
  const before = (ms: number) => new Date(now.getTime() - ms)
  return deleteBatch(
    db,
    {
      table: 'app_clients',
      key: 'id',
      where: `(${UNUSED} and registered_at <= $1) or used_at <= $2
        or (${UNUSED} and registered_at <= $3 and (registered_at, id) <=
          (select registered_at, id from app_clients where ${UNUSED} order by registered_at desc, id desc offset $4 limit 1))
        order by registered_at, id`,
    },
    [before(RULES.unusedAppMs), before(RULES.idleMs + RULES.useRecordedMs), before(RULES.floodMs), unused],
  )
}

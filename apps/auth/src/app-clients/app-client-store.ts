/*
 * Stores apps in PostgreSQL: registered apps, and the metadata from the documents of apps that are known by a URL, so that
 * all instances share one fetch. `app-client-finder.ts` decides when to fetch.
 */
import { randomBytes } from 'node:crypto'
import { AgentKey, RULES } from '@plainpath/domain'
import { createRowReader, type Database, deleteBatch, type Pool, rewriteColumn } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { z } from 'zod'
import type { AppMetadata } from './app-metadata.ts'

export interface StoredAppClient extends AppMetadata {
  readonly id: string
  readonly registeredAt: Date
  /** The recorded time of the last sign-in with the app. It may be up to a day too early. */
  readonly usedAt?: Date | undefined
  /** When the app's document was requested; absent for a registered app. */
  readonly documentFetchedAt?: Date | undefined
  readonly documentExpiresAt?: Date | undefined
}

const AppClientRow = createRowReader(
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

/** Returns the encryption context that binds an encrypted name to its app, so rows cannot be swapped. */
const toNameEncryptionContext = (id: string) => `app_clients/${id}/name`

export interface AppClientStore {
  /**
   * Stores an app that registers, under a random id.
   *
   * @returns the id: `app_` and 22 characters
   */
  add(metadata: AppMetadata, now: Date): Promise<string>
  /**
   * Stores the metadata from the document at `id`. A document that was requested before the stored one is ignored,
   * because it may contain values that have since been removed.
   */
  saveDocument(
    id: string,
    metadata: AppMetadata,
    times: { readonly fetchedAt: Date; readonly expiresAt: Date },
  ): Promise<void>
  find(id: string): Promise<StoredAppClient | undefined>
  /**
   * Records that a person signs in with the app, at most once a day. Does nothing for an app that is known only from the list of
   * hosts (`source: 'pinned'`), which has no row.
   */
  markUsed(id: string, now: Date): Promise<void>
  /**
   * Re-encrypts names under the newest key-encryption key. A dry run only counts the names that it would re-encrypt.
   *
   * @returns the number of names that were under an older key
   * @throws {UnsealError}
   */
  reencryptNames(options: { dryRun: boolean }): Promise<number>
}

export function createAppClientStore(db: Pool, sealer: Sealer): AppClientStore {
  const toColumnValues = (
    id: string,
    { redirectUris, name, applicationType, authMethod, keys }: AppMetadata,
  ) => [
    id,
    redirectUris,
    name === undefined ? null : sealer.seal(name, toNameEncryptionContext(id)),
    applicationType,
    authMethod,
    keys.length > 0 ? JSON.stringify(keys) : null,
  ]

  return {
    async add(metadata, now) {
      const id = `app_${randomBytes(16).toString('base64url')}`
      await db.query(
        `insert into app_clients (id, redirect_uris, name_sealed, application_type, auth_method, jwks, registered_at)
         values ($1, $2, $3, $4, $5, $6::jsonb, $7)`,
        [...toColumnValues(id, metadata), now],
      )
      return id
    },

    async saveDocument(id, metadata, { fetchedAt, expiresAt }) {
      await db.query(UPSERT_DOCUMENT, [...toColumnValues(id, metadata), fetchedAt, expiresAt])
    },

    async find(id) {
      const { rows } = await db.query(`select ${AppClientRow.columns} from app_clients where id = $1`, [id])
      if (!rows[0]) return undefined
      const { nameSealed, jwks: keys, ...row } = AppClientRow.parse(rows[0])
      if (!nameSealed) return { ...row, keys }
      return {
        ...row,
        keys,
        name: sealer.unseal(nameSealed, toNameEncryptionContext(id)).toString('utf8'),
      }
    },

    async markUsed(id, now) {
      await db.query(
        'update app_clients set used_at = $2 where id = $1 and (used_at is null or used_at <= $3)',
        [id, now, new Date(now.getTime() - RULES.useRecordedMs)],
      )
    },

    reencryptNames: (options) =>
      rewriteColumn(
        db,
        {
          table: 'app_clients',
          column: 'name_sealed',
          keyColumn: 'id',
          rewrite: (sealed, id) => sealer.reseal(sealed, toNameEncryptionContext(id)),
        },
        options,
      ),
  }
}

const UPSERT_DOCUMENT = `
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
 * Deletes a batch of apps: those whose registration and recorded last use are 91 days old (`idleMs + useRecordedMs`), which is longer
 * than any verification lasts, and the oldest unused apps if there are too many.
 *
 * An unused app is kept for as long as a used one. A person may sign in long after the app registered, and many apps keep an id that
 * has expired and never register again.
 *
 * @param maxUnused how many unused apps may exist. If there are more, the oldest are deleted, except those from the last hour
 * @returns the number of deleted apps; 0 when none is left
 */
export function sweepAppClients(db: Database, now: Date, maxUnused: number): Promise<number> {
  const timeAgo = (ms: number) => new Date(now.getTime() - ms)
  return deleteBatch(
    db,
    {
      table: 'app_clients',
      keyColumn: 'id',
      where: `(${UNUSED} and registered_at <= $1) or used_at <= $1
        or (${UNUSED} and registered_at <= $2 and (registered_at, id) <=
          (select registered_at, id from app_clients where ${UNUSED} order by registered_at desc, id desc offset $3 limit 1))`,
      orderBy: 'registered_at, id',
    },
    [timeAgo(RULES.idleMs + RULES.useRecordedMs), timeAgo(RULES.floodMs), maxUnused],
  )
}

// Stores URL clients (agents whose id is the URL of a document) and blocked domains in PostgreSQL.
import {
  AgentId,
  AgentKey,
  ANONYMOUS_SCOPES,
  err,
  ok,
  type Result,
  RULES,
  type Scope,
} from '@plainpath/domain'
import { createRowReader, type Database, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { type Actor, type AuditRow, createAuditTable } from '../audit/audit-chain.ts'
import type { VerifiedAssertion } from '../clients/client-assertion.ts'
import { lockActiveAgent } from '../clients/credential-version.ts'
import { createUsedJtiStore } from '../clients/used-jti-store.ts'
import type { AuthEvents } from '../events.ts'
import { type BlockEntry, listDomainAndParents } from './blocked-domain.ts'
import { compareKeys } from './compare-keys.ts'

/** The stored part of a document, and how long it may be used. */
export interface StoredDocument {
  readonly keys: readonly AgentKey[]
  /** True if each token must be bound to a key (`dpop_bound_access_tokens`). */
  readonly dpopBound: boolean
  /** When the document was requested. */
  readonly fetchedAt: Date
  readonly expiresAt: Date
}

/** The stored state of a client after its document was fetched again. */
export interface RefreshedClient extends StoredDocument {
  readonly credentialVersion: number
  readonly scopes: readonly Scope[]
  /** Why the credential version was raised: the document lacks a stored key, or newly requires bound tokens. */
  readonly revocationReason?: 'key-removed' | 'binding-required'
  /** True if the fetched document was ignored, because it was requested before the stored one. */
  readonly isDocumentIgnored: boolean
}

/** `used`: the assertion was used before. `refused`: the agent is disabled, its domain is blocked, or its keys have changed. */
type ActivationRefusal = 'used' | 'refused'

const UrlClientRow = createRowReader(
  z.object({
    jwks: z.array(AgentKey).max(RULES.agentKeys).default([]),
    dpopBound: z.boolean(),
    scopes: z.custom<readonly Scope[]>(Array.isArray),
    generation: z.int(),
    documentFetchedAt: z.date().default(new Date(0)),
    documentExpiresAt: z.date().default(new Date(0)),
  }),
)

/**
 * Computes the credential version of a URL client that is activated now: the seconds since the start of 2026. If the
 * URL had an earlier row that expired, the new version is higher than any version of that row in PostgreSQL or Redis. To reach
 * a higher version, the earlier row, which existed for at least an hour, would have had to lose a credential every second.
 */
const computeFirstVersion = (now: Date) => Math.floor((now.getTime() - Date.UTC(2026, 0)) / 1000)

const AUDIT = createAuditTable('blocked_domain_audit')
/** Each activation takes this lock in shared mode, so a block waits for activations that began before it. */
const BLOCK_LOCK = `hashtextextended('blocked domains', 0)`

export interface UrlClientStore {
  /**
   * Stores an agent at its first token request, or again after it was deleted, and marks its assertion as used, in one
   * transaction. `beforeCommit` runs before the commit if a row is stored; if it throws, nothing changes.
   *
   * @returns the credential version of its tokens
   */
  activate(
    id: AgentId,
    document: StoredDocument,
    assertion: VerifiedAssertion,
    beforeCommit: (credentialVersion: number) => Promise<void>,
  ): Promise<Result<number, ActivationRefusal>>
  /**
   * Stores the keys of a document that was fetched again. Raises the credential version if the document lacks a stored
   * key, or if it newly requires bound tokens, because earlier tokens may be bearer tokens. A document that was requested
   * before the stored one is ignored, because it may contain a key that has since been removed. `beforeCommit` runs before the
   * commit if the credential version was raised; if it throws, nothing changes.
   *
   * @returns the stored row after the change; undefined unless the agent is active
   */
  refresh(
    id: AgentId,
    document: StoredDocument,
    beforeCommit: (credentialVersion: number) => Promise<void>,
  ): Promise<RefreshedClient | undefined>
  /**
   * Revokes the tokens of an agent whose document is no longer valid. The document must be fetched again before the
   * next use. `beforeCommit` runs before the commit; if it throws, nothing changes.
   *
   * @param requestedAt when the invalid document was requested; nothing changes if the stored one was requested later
   * @param options.skipExpired true to change nothing if the stored document has expired, because all its tokens have too
   * @returns the new credential version; undefined if nothing changed
   */
  expireDocument(
    id: AgentId,
    requestedAt: Date,
    options: { skipExpired: boolean },
    beforeCommit: (credentialVersion: number) => Promise<void>,
  ): Promise<number | undefined>
  isBlocked(id: AgentId): Promise<boolean>
  /**
   * Blocks or unblocks a domain with its subdomains, and records the step in the audit log. No agent of a blocked domain can
   * be activated. The caller disables existing agents.
   *
   * @returns the audit head; undefined if nothing changed
   */
  setBlocked(
    step: BlockEntry['step'],
    domain: string,
    audit: { actor: Actor; reason: string },
    now: Date,
  ): Promise<string | undefined>
  isDomainBlocked(domain: string): Promise<boolean>
  readBlockAudit(): Promise<readonly AuditRow[]>
  /**
   * Lists a batch of the agents of a domain and its subdomains in the order of their ids, without deleted agents.
   *
   * @param afterId the last id of the previous batch
   */
  listByDomain(domain: string, limit: number, afterId?: string): Promise<readonly AgentId[]>
}

export function createUrlClientStore(db: Pool, events: AuthEvents): UrlClientStore {
  return {
    async activate(id, document, assertion, beforeCommit) {
      return await db.transaction<Result<number, ActivationRefusal>>(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        await tx.query(`select pg_advisory_xact_lock_shared(${BLOCK_LOCK})`)
        if (await isBlocked(tx, id)) return err('refused')
        // A refusal is returned, not thrown, so the transaction commits. Only the statements after this savepoint are undone.
        await tx.query('savepoint before_activation')
        const { fetchedAt, expiresAt, dpopBound } = document
        const firstVersion = computeFirstVersion(fetchedAt)
        const jwks = JSON.stringify(document.keys)
        const values = [id, [...ANONYMOUS_SCOPES], firstVersion, fetchedAt, jwks, expiresAt, dpopBound]
        const { rows } = await tx.query<{ credentialVersion: number }>(ACTIVATE, values)
        // If another request stored the agent in the meantime, the assertion must be signed with a key of that row.
        const [addedRow] = rows
        const credentialVersion =
          addedRow?.credentialVersion ??
          (await lockActiveAgent(tx, { id, credentialVersion: undefined }))?.credentialVersion
        const outcome = await createUsedJtiStore(tx).markUsed(assertion)
        if (outcome !== 'accepted' || credentialVersion === undefined) {
          await tx.query('rollback to savepoint before_activation')
          return err(outcome === 'used' ? 'used' : 'refused')
        }
        // Redis may have cached the credential version of an earlier row for the same URL.
        if (addedRow) await beforeCommit(credentialVersion)
        return ok(credentialVersion)
      })
    },

    async refresh(id, document, beforeCommit) {
      const refreshed = await db.transaction(async (tx) => {
        const lockedClient = await lockActiveUrlClient(tx, id)
        if (!lockedClient || isSameFetch(document, lockedClient)) return lockedClient
        if (document.fetchedAt < lockedClient.fetchedAt) return { ...lockedClient, isDocumentIgnored: true }
        const reason = findRevocationReason(lockedClient, document)
        const credentialVersion = lockedClient.credentialVersion + (reason ? 1 : 0)
        const { keys, dpopBound, fetchedAt, expiresAt } = document
        await tx.query(
          `update agents set jwks = $2::jsonb, generation = $3, document_fetched_at = $4, document_expires_at = $5,
             dpop_bound = $6
           where id = $1`,
          [id, JSON.stringify(keys), credentialVersion, fetchedAt, expiresAt, dpopBound],
        )
        if (reason) await beforeCommit(credentialVersion)
        return {
          ...lockedClient,
          ...document,
          credentialVersion,
          ...(reason && { revocationReason: reason }),
        }
      })
      if (refreshed?.revocationReason) events.emit('document-changed', { client_id: id })
      return refreshed
    },

    async expireDocument(id, requestedAt, { skipExpired }, beforeCommit) {
      const raisedVersion = await db.transaction(async (tx) => {
        const lockedClient = await lockActiveUrlClient(tx, id)
        if (
          !lockedClient ||
          lockedClient.fetchedAt > requestedAt ||
          (skipExpired && lockedClient.expiresAt <= requestedAt)
        )
          return undefined
        const credentialVersion = lockedClient.credentialVersion + 1
        await tx.query(
          'update agents set generation = $2, document_fetched_at = $3, document_expires_at = $3 where id = $1',
          [id, credentialVersion, requestedAt],
        )
        await beforeCommit(credentialVersion)
        return credentialVersion
      })
      if (raisedVersion !== undefined) events.emit('document-changed', { client_id: id })
      return raisedVersion
    },

    isBlocked: (id) => isBlocked(db, id),

    async setBlocked(step, domain, { actor, reason }, now) {
      const head = await db.transaction(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        await tx.query(`select pg_advisory_xact_lock(${BLOCK_LOCK})`)
        const { rowCount } =
          step === 'block'
            ? await tx.query('insert into blocked_domains values ($1, $2) on conflict do nothing', [
                domain,
                now,
              ])
            : await tx.query('delete from blocked_domains where domain = $1', [domain])
        if (rowCount === 0) return undefined
        const entry: BlockEntry = { at: now.toISOString(), by: actor, step, domain, reason }
        return await AUDIT.append(tx, entry)
      })
      if (head !== undefined)
        events.emit(step === 'block' ? 'domain-blocked' : 'domain-unblocked', { domain })
      return head
    },

    isDomainBlocked: async (domain) =>
      (await db.query('select from blocked_domains where domain = $1', [domain])).rowCount === 1,

    readBlockAudit: () => AUDIT.readAll(db),

    async listByDomain(domain, limit, afterId = '') {
      const { rows } = await db.query<{ id: string }>(
        `select id from agents
         where id like 'https://%' and status <> 'deleted' and id > $3 collate "C"
           and '.' || rtrim(substring(id from '^https://([^/:]+)'), '.') like '%.' || $1
         order by id collate "C" limit $2`,
        [domain, limit, afterId],
      )
      return rows.map(({ id }) => AgentId.parse(id))
    },
  }
}

/** Returns true if both documents come from the same fetch, which several requests may share. */
const isSameFetch = (document: StoredDocument, stored: StoredDocument) =>
  document.fetchedAt.getTime() === stored.fetchedAt.getTime() &&
  document.expiresAt.getTime() === stored.expiresAt.getTime()

function findRevocationReason(
  lockedClient: StoredDocument,
  document: StoredDocument,
): RefreshedClient['revocationReason'] {
  if (compareKeys(lockedClient.keys, document.keys, []).isCredentialRemoved) return 'key-removed'
  return document.dpopBound && !lockedClient.dpopBound ? 'binding-required' : undefined
}

async function isBlocked(db: Database, id: AgentId): Promise<boolean> {
  const { rows } = await db.query('select from blocked_domains where domain = any($1) limit 1', [
    listDomainAndParents(id),
  ])
  return rows.length > 0
}

async function lockActiveUrlClient(tx: Database, id: AgentId): Promise<RefreshedClient | undefined> {
  await tx.query('set local synchronous_commit = on')
  const { rows } = await tx.query(
    `select ${UrlClientRow.columns} from agents where id = $1 and id like 'https://%' and status = 'active' for no key update`,
    [id],
  )
  if (!rows[0]) return undefined
  const {
    jwks: keys,
    generation: credentialVersion,
    documentFetchedAt: fetchedAt,
    documentExpiresAt: expiresAt,
    ...row
  } = UrlClientRow.parse(rows[0])
  return { ...row, keys, credentialVersion, fetchedAt, expiresAt, isDocumentIgnored: false }
}

/** SQL that inserts an agent, or replaces a deleted one. Any other existing row does not change. */
const ACTIVATE = `
  insert into agents (id, scopes, status, generation, registered_at, last_used_at, jwks, document_fetched_at, document_expires_at,
    dpop_bound)
  values ($1, $2, 'active', $3, $4, null, $5::jsonb, $4, $6, $7)
  on conflict (id) do update
    set scopes = excluded.scopes, status = 'active', generation = greatest(agents.generation + 1, excluded.generation),
        registered_at = excluded.registered_at, last_used_at = null, jwks = excluded.jwks,
        document_fetched_at = excluded.document_fetched_at, document_expires_at = excluded.document_expires_at,
        dpop_bound = excluded.dpop_bound, contact_bound_since = null, status_reason = null
    where agents.status = 'deleted'
  returning generation as "credentialVersion"`

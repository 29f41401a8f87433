/*
 * Agents that are known by the URL of a document, in PostgreSQL, and the domains of which none may be known. A row holds
 * the URL and the keys, so that all instances share one fetch. Fetching is up to `client-documents/`, deciding when to
 * fetch to `clients/url-clients.ts`, and revoking tokens to the caller's `announce`, as in `agent-repository.ts`.
 */
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
import { type Database, type Pool, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import { type Actor, auditTable } from '../audit/audit-chain.ts'
import type { VerifiedAssertion } from '../clients/client-assertion.ts'
import { usedJtiStore } from '../clients/used-jti-store.ts'
import type { AuthEvents } from '../events.ts'
import { type BlockEntry, domainAndParents } from './blocked-domain.ts'
import { compareKeys } from './compare-keys.ts'

/** What is stored of a document, and how long it may be used. */
export interface StoredDocument {
  readonly keys: readonly AgentKey[]
  /** Whether each token must be bound to a key (`dpop_bound_access_tokens`). */
  readonly dpopBound: boolean
  /** When it was requested. */
  readonly fetchedAt: Date
  readonly expiresAt: Date
}

/** The keys that are stored after a document was fetched again. */
export interface RefreshedClient extends StoredDocument {
  readonly generation: number
  readonly scopes: readonly Scope[]
  /** Why the generation was raised, if it was: a stored key is gone, or tokens must be bound to a key by now. */
  readonly revoked?: 'key-gone' | 'must-be-bound'
  /** Whether the document was ignored, because it was requested before the stored one. */
  readonly isOlder: boolean
}

/** `refused`: the agent is disabled, its domain is blocked, or it has other keys by now. */
export type BeginRefusal = 'used' | 'refused'

const Row = rowReader(
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
 * The generation of an agent that begins now: the seconds since 2026. A URL may begin again after its row expired. Then
 * this is higher than any number that was stored, or cached in Redis, for the earlier row: an agent expires after an hour
 * at least, and would have to lose a credential every second to outrun the clock.
 */
const firstGeneration = (now: Date) => Math.floor((now.getTime() - Date.UTC(2026, 0)) / 1000)

const AUDIT = auditTable('blocked_domain_audit')
/** An agent that begins holds it shared, so that a block waits for agents that did not see it. */
const BLOCK_LOCK = `hashtextextended('blocked domains', 0)`

export type UrlClientStore = ReturnType<typeof urlClientStore>

export function urlClientStore(db: Pool, events: AuthEvents) {
  return {
    /**
     * Stores an agent at its first token request, or anew after it was deleted, and marks its assertion as used: both or
     * neither. `announce` runs before the commit; if it throws, nothing changes.
     *
     * @returns the generation of its tokens
     */
    async begin(
      id: AgentId,
      document: StoredDocument,
      assertion: VerifiedAssertion,
      announce: (generation: number) => Promise<void>,
    ): Promise<Result<number, BeginRefusal>> {
      return await db.transaction<Result<number, BeginRefusal>>(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        await tx.query(`select pg_advisory_xact_lock_shared(${BLOCK_LOCK})`)
        if (await isBlocked(tx, id)) return err('refused')
        await tx.query('savepoint before')
        const { rows } = await tx.query<{ generation: number }>(BEGIN, [
          ...[id, [...ANONYMOUS_SCOPES], firstGeneration(document.fetchedAt), document.fetchedAt],
          ...[JSON.stringify(document.keys), document.expiresAt, document.dpopBound],
        ])
        const [added] = rows
        // Another request may have begun it meanwhile. Then the assertion must be signed with a key of that row.
        const generation = added?.generation ?? (await findGeneration(tx, id))
        const use = await usedJtiStore(tx).use(assertion)
        if (use !== 'accepted' || generation === undefined) {
          await tx.query('rollback to savepoint before')
          return err(use === 'used' ? 'used' : 'refused')
        }
        // Redis may have cached the number of an earlier row.
        if (added) await announce(generation)
        return ok(generation)
      })
    },

    /**
     * Stores the keys of a document that was fetched again. Raises the generation when a key is gone, and when the document
     * has begun to ask for bound tokens: earlier ones may be bearer tokens. A document that was requested before the stored
     * one is ignored: it may hold a key that was removed since. `announce` runs before the commit; if it throws, nothing changes.
     *
     * @returns what is stored now; undefined unless the agent is active
     */
    async refresh(
      id: AgentId,
      document: StoredDocument,
      announce: (generation: number) => Promise<void>,
    ): Promise<RefreshedClient | undefined> {
      const refreshed = await db.transaction(async (tx) => {
        const before = await lockActive(tx, id)
        if (!before || isSame(document, before)) return before
        if (document.fetchedAt < before.fetchedAt) return { ...before, isOlder: true }
        const revoked = whyRevoked(before, document)
        const generation = before.generation + (revoked ? 1 : 0)
        await tx.query(
          `update agents set jwks = $2::jsonb, generation = $3, document_fetched_at = $4, document_expires_at = $5,
             dpop_bound = $6
           where id = $1`,
          [
            ...[id, JSON.stringify(document.keys), generation, document.fetchedAt, document.expiresAt],
            document.dpopBound,
          ],
        )
        if (revoked) await announce(generation)
        return { ...before, ...document, generation, ...(revoked && { revoked }) }
      })
      if (refreshed?.revoked) events.emit('document-changed', { client_id: id })
      return refreshed
    },

    /**
     * Revokes the tokens of an agent whose document does not name it or its keys any more. The document must be fetched
     * again before the next use. `announce` runs before the commit; if it throws, nothing changes.
     *
     * @param at when the document was requested
     * @param options.onlyCurrent true to leave an agent whose stored document has expired, and all its tokens with it
     * @returns the new generation; undefined when there is nothing to revoke
     */
    async expireDocument(
      id: AgentId,
      at: Date,
      { onlyCurrent }: { onlyCurrent: boolean },
      announce: (generation: number) => Promise<void>,
    ): Promise<number | undefined> {
      const expired = await db.transaction(async (tx) => {
        const before = await lockActive(tx, id)
        if (!before || before.fetchedAt > at || (onlyCurrent && before.expiresAt <= at)) return undefined
        const generation = before.generation + 1
        await tx.query(
          'update agents set generation = $2, document_fetched_at = $3, document_expires_at = $3 where id = $1',
          [id, generation, at],
        )
        await announce(generation)
        return generation
      })
      if (expired !== undefined) events.emit('document-changed', { client_id: id })
      return expired
    },

    isBlocked: (id: AgentId): Promise<boolean> => isBlocked(db, id),

    /**
     * Blocks or unblocks a domain with its subdomains, with a row of the audit. When a block returns, no agent of the
     * domain begins; those that exist are up to the caller.
     *
     * @returns the head of the audit; undefined when nothing was to be changed
     */
    async setBlocked(
      step: BlockEntry['step'],
      domain: string,
      { by, reason }: { by: Actor; reason: string },
      now: Date,
    ): Promise<string | undefined> {
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
        const entry: BlockEntry = { at: now.toISOString(), by, step, domain, reason }
        return await AUDIT.append(tx, entry)
      })
      if (head !== undefined)
        events.emit(step === 'block' ? 'domain-blocked' : 'domain-unblocked', { domain })
      return head
    },

    isDomainBlocked: async (domain: string): Promise<boolean> =>
      (await db.query('select from blocked_domains where domain = $1', [domain])).rowCount === 1,

    blockAudit: () => AUDIT.all(db),

    /** Lists the agents of a domain and its subdomains, in batches, except deleted ones. @param after the last of the batch before */
    async listOfDomain(domain: string, limit: number, after = ''): Promise<readonly AgentId[]> {
      const { rows } = await db.query<{ id: string }>(
        `select id from agents
         where id like 'https://%' and status <> 'deleted' and id > $3 collate "C"
           and '.' || rtrim(substring(id from '^https://([^/:]+)'), '.') like '%.' || $1
         order by id collate "C" limit $2`,
        [domain, limit, after],
      )
      return rows.map(({ id }) => AgentId.parse(id))
    },
  }
}

/** True when several requests shared a fetch. */
const isSame = (document: StoredDocument, stored: StoredDocument) =>
  document.fetchedAt.getTime() === stored.fetchedAt.getTime() &&
  document.expiresAt.getTime() === stored.expiresAt.getTime()

function whyRevoked(before: StoredDocument, document: StoredDocument): RefreshedClient['revoked'] {
  if (compareKeys(before.keys, document.keys, []).removes) return 'key-gone'
  return document.dpopBound && !before.dpopBound ? 'must-be-bound' : undefined
}

async function isBlocked(db: Database, id: AgentId): Promise<boolean> {
  const { rows } = await db.query('select from blocked_domains where domain = any($1) limit 1', [
    domainAndParents(id),
  ])
  return rows.length > 0
}

async function findGeneration(tx: Database, id: AgentId): Promise<number | undefined> {
  const { rows } = await tx.query<{ generation: number }>(
    `select generation from agents where id = $1 and status = 'active' for no key update`,
    [id],
  )
  return rows[0]?.generation
}

async function lockActive(tx: Database, id: AgentId): Promise<RefreshedClient | undefined> {
  await tx.query('set local synchronous_commit = on')
  const { rows } = await tx.query(
    `select ${Row.columns} from agents where id = $1 and id like 'https://%' and status = 'active' for no key update`,
    [id],
  )
  if (!rows[0]) return undefined
  const {
    jwks: keys,
    documentFetchedAt: fetchedAt,
    documentExpiresAt: expiresAt,
    ...row
  } = Row.parse(rows[0])
  return { ...row, keys, fetchedAt, expiresAt, isOlder: false }
}

/** A deleted agent begins anew. Otherwise a row that exists stays as it is. */
const BEGIN = `
  insert into agents (id, scopes, status, generation, registered_at, last_used_at, jwks, document_fetched_at, document_expires_at,
    dpop_bound)
  values ($1, $2, 'active', $3, $4, null, $5::jsonb, $4, $6, $7)
  on conflict (id) do update
    set scopes = excluded.scopes, status = 'active', generation = greatest(agents.generation + 1, excluded.generation),
        registered_at = excluded.registered_at, last_used_at = null, jwks = excluded.jwks,
        document_fetched_at = excluded.document_fetched_at, document_expires_at = excluded.document_expires_at,
        dpop_bound = excluded.dpop_bound, contact_bound_since = null
    where agents.status = 'deleted'
  returning generation`

/*
 * Finds the keys of a client that is known by the URL of its document, and decides when the document must be fetched
 * (again). `authenticate-client.ts` verifies the assertion with these keys.
 */
import { type AgentId, ANONYMOUS_SCOPES, RULES, type Scope } from '@plainpath/domain'
import { type Limiter, Problem, spendLimits } from '@plainpath/http'
import type { Context } from 'koa'
import type { AgentRecord } from '../agents/agent-repository.ts'
import { type FetchDocument, type RefreshDocumentDeps, refreshDocument } from '../agents/refresh-document.ts'
import type { StoredDocument, UrlClientStore } from '../agents/url-client-store.ts'
import type { DocumentFault } from '../client-documents/client-document.ts'
import { DOCUMENT_FETCHES, LIMITS } from '../limits.ts'
import { invalidClient } from './invalid-client.ts'
import type { Provable, UseAssertion } from './provable.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

/** A URL client with what authenticates it now. */
export interface UrlClient extends Provable {
  readonly scopes: readonly Scope[]
  readonly generation: number
  /** When the document expires that the keys are from. */
  readonly documentExpiresAt: Date
  readonly use: UseAssertion
}

export interface UrlClientsDeps extends RefreshDocumentDeps {
  /** Reads PostgreSQL. */
  readonly agents: { find(id: AgentId): Promise<AgentRecord | undefined> }
  readonly urlClients: RefreshDocumentDeps['urlClients'] & Pick<UrlClientStore, 'begin' | 'isBlocked'>
  readonly usedJtis: Pick<UsedJtiStore, 'use'>
  readonly fetchDocument: FetchDocument
  readonly limiter: Limiter
  readonly now: () => Date
}

/** `ageing`: still usable, but so short that its tokens would be too. */
type Freshness = 'fresh' | 'ageing' | 'expired'

/** Judges a stored document. No token is issued in its last second, since the lifetime of a token is in whole seconds. */
function judgeFreshness(
  { fetchedAt, expiresAt }: Pick<StoredDocument, 'fetchedAt' | 'expiresAt'>,
  now: Date,
): Freshness {
  const left = expiresAt.getTime() - now.getTime()
  if (left < 1_000) return 'expired'
  const isShort = left < RULES.tokenMs && left < (expiresAt.getTime() - fetchedAt.getTime()) / 2
  return isShort ? 'ageing' : 'fresh'
}

export type FindUrlClient = ReturnType<typeof urlClientFinder>

/**
 * Creates the function that finds a URL client whose assertion is about to be verified. The document is fetched when there
 * is no row, or when the stored one has expired or is about to. The row of a client that is new is added only when its
 * assertion is used.
 *
 * @param findStored may read a cache
 */
export function urlClientFinder(deps: UrlClientsDeps, findStored: UrlClientsDeps['agents']['find']) {
  const { agents, urlClients, usedJtis, limiter, now } = deps
  /** @throws {Problem} when the document cannot be used, or the address has fetched too often */
  async function refresh(ctx: Context, id: AgentId): Promise<StoredClient | undefined> {
    await spendFetch(ctx)
    const fetched = await deps.fetchDocument(id, addressOf(ctx), { isNew: false })
    const refreshed = await refreshDocument(deps, id, fetched)
    if (!fetched.ok) throw documentProblem(fetched.error)
    return refreshed
  }

  async function spendFetch(ctx: Context): Promise<void> {
    spendLimits(ctx, await limiter.takeForAddress(DOCUMENT_FETCHES, addressOf(ctx)))
  }

  const toClient = (id: AgentId, stored: StoredClient): UrlClient => ({
    id,
    keys: stored.keys,
    secrets: [],
    scopes: stored.scopes,
    generation: stored.generation,
    documentExpiresAt: stored.expiresAt,
    use: async (assertion) => ({ outcome: await usedJtis.use(assertion) }),
  })

  async function findActive(ctx: Context, id: AgentId, stored: StoredClient): Promise<UrlClient | undefined> {
    const freshness = judgeFreshness(stored, now())
    if (freshness === 'fresh') return toClient(id, stored)
    try {
      const refreshed = await refresh(ctx, id)
      const isUsable = refreshed && judgeFreshness(refreshed, now()) !== 'expired'
      return isUsable ? toClient(id, refreshed) : undefined
    } catch (error) {
      if (freshness === 'expired' || !(error instanceof Problem)) throw error
      // A document that is no longer one of a client has expired the stored one.
      const current = toStored(await agents.find(id))
      if (!current || judgeFreshness(current, now()) === 'expired') throw error
      return toClient(id, current)
    }
  }

  async function findNew(ctx: Context, id: AgentId): Promise<UrlClient | undefined> {
    if (await urlClients.isBlocked(id)) return undefined
    await spendFetch(ctx)
    const fetched = await deps.fetchDocument(id, addressOf(ctx), { isNew: true })
    if (!fetched.ok) throw documentProblem(fetched.error)
    const document = fetched.value
    return {
      id,
      keys: document.keys,
      secrets: [],
      scopes: ANONYMOUS_SCOPES,
      generation: 0,
      documentExpiresAt: document.expiresAt,
      async use(assertion) {
        // A row costs as much as a registration.
        for (const policy of LIMITS.register)
          spendLimits(ctx, await limiter.takeForAddress(policy, addressOf(ctx)))
        const begun = await urlClients.begin(id, document, assertion, (generation) =>
          deps.tokens.revokeTokensOf({ kind: 'client', id, generation }),
        )
        deps.cachedAgents.forget(id)
        if (!begun.ok) return { outcome: begun.error === 'used' ? 'used' : 'not-current' }
        return { outcome: 'accepted', generation: begun.value }
      },
    }
  }

  /**
   * Finds the client. Only a token request lets a client begin.
   *
   * @returns undefined for a client that is unknown, disabled or deleted, or whose domain is blocked
   * @throws {Problem} `invalid-client` when its document cannot be used, `rate-limited` when too much is fetched
   */
  return async (
    ctx: Context,
    id: AgentId,
    { mayBegin }: { mayBegin: boolean },
  ): Promise<UrlClient | undefined> => {
    const cached = toStored(await findStored(id))
    if (cached && judgeFreshness(cached, now()) === 'fresh') return toClient(id, cached)
    // Another instance may have fetched it meanwhile.
    const record = await agents.find(id)
    const stored = toStored(record)
    if (stored) return await findActive(ctx, id, stored)
    if (record?.agent.status === 'disabled' || !mayBegin) return undefined
    return await findNew(ctx, id)
  }
}

interface StoredClient extends StoredDocument {
  readonly generation: number
  readonly scopes: readonly Scope[]
}

/** @returns undefined unless the client is active */
function toStored(record: AgentRecord | undefined): StoredClient | undefined {
  if (record?.agent.status !== 'active') return undefined
  const { keys, dpopBound, generation, scopes, documentFetchedAt, documentExpiresAt } = record.agent
  const never = new Date(0)
  return {
    keys,
    dpopBound,
    generation,
    scopes,
    fetchedAt: documentFetchedAt ?? never,
    expiresAt: documentExpiresAt ?? never,
  }
}

const addressOf = (ctx: Context) => String(ctx.state['address'])

/** How long until a place for a fetch is free: each takes two seconds at most. */
const BUSY_SECONDS = 2

/**
 * Creates the problem of a document that cannot be used. What was fetched shows only in the name of a wrong member, and
 * only if the document named its own URL as `client_id`: otherwise anybody could read through this server.
 */
function documentProblem(fault: DocumentFault): Problem {
  if (fault.kind === 'busy')
    return new Problem('rate-limited', {
      detail: `Too many documents are being fetched for this host or address. Try again in ${BUSY_SECONDS} seconds.`,
      headers: { 'retry-after': String(BUSY_SECONDS) },
    })
  if (fault.kind === 'unusable') return invalidClient(UNUSABLE)
  return invalidClient(`The document at your client_id: ${fault.member} ${fault.detail}.`)
}

const UNUSABLE =
  'There is no usable document at your client_id. Serve it on a public host with https on port 443: status 200, no redirect, ' +
  'type application/json, at most 5 KiB, within 2 seconds, with client_id equal to its URL. Failures are cached for a minute.'

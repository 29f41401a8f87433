/*
 * Finds the keys of a URL client, whose id is the URL of its metadata document. Decides when the document must be fetched or
 * fetched again. `client-authenticator.ts` verifies the assertion with these keys.
 */
import { type AgentId, ANONYMOUS_SCOPES, RULES, type Scope } from '@plainpath/domain'
import { enforceLimits, type Limiter, Problem } from '@plainpath/http'
import type { Context } from 'koa'
import type { AgentRecord } from '../agents/agent-store.ts'
import { type FetchDocument, type RefreshDocumentDeps, refreshDocument } from '../agents/refresh-document.ts'
import type { StoredDocument, UrlClientStore } from '../agents/url-client-store.ts'
import { createBusyProblem } from '../client-documents/busy-problem.ts'
import type { DocumentFault } from '../client-documents/client-document.ts'
import { DOCUMENT_FETCH_LIMIT, LIMITS } from '../limits.ts'
import type { ClientWithCredentials, MarkAssertionUsed } from './client-with-credentials.ts'
import { createInvalidClientProblem } from './invalid-client.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

/** A URL client with its current credentials. */
interface UrlClient extends ClientWithCredentials {
  readonly scopes: readonly Scope[]
  /** The version of the stored client. For a new client, 0: only `markAssertionUsed` stores it and resolves to its version. */
  readonly credentialVersion: number
  /** When the document with these keys expires. */
  readonly documentExpiresAt: Date
  /**
   * For a new client, also stores the client, which counts as a registration.
   *
   * @throws {Problem} `rate-limited` for a new client if too many clients were registered from the caller's address
   */
  readonly markAssertionUsed: MarkAssertionUsed
}

export interface UrlClientsDeps extends RefreshDocumentDeps {
  /** Reads agents from PostgreSQL, without a cache. */
  readonly agents: { find(id: AgentId): Promise<AgentRecord | undefined> }
  readonly urlClients: RefreshDocumentDeps['urlClients'] & Pick<UrlClientStore, 'activate' | 'isBlocked'>
  readonly usedJtis: Pick<UsedJtiStore, 'markUsed'>
  readonly fetchDocument: FetchDocument
  readonly limiter: Limiter
  readonly now: () => Date
}

/**
 * How fresh a stored document is.
 *
 * - `fresh`: the document is used without another fetch.
 * - `ageing`: the document is still usable, but more than half of its lifetime is over, and a new token would not get its full
 *   lifetime, because a token expires no later than the document.
 * - `expired`: the document has expired, or expires within a second. No token can then be issued, because lifetimes are whole
 *   seconds.
 */
type Freshness = 'fresh' | 'ageing' | 'expired'

function assessFreshness(
  { fetchedAt, expiresAt }: Pick<StoredDocument, 'fetchedAt' | 'expiresAt'>,
  now: Date,
): Freshness {
  const remainingMs = expiresAt.getTime() - now.getTime()
  if (remainingMs < 1_000) return 'expired'
  const isAgeing =
    remainingMs < RULES.tokenMs && remainingMs < (expiresAt.getTime() - fetchedAt.getTime()) / 2
  return isAgeing ? 'ageing' : 'fresh'
}

/**
 * Finds a URL client whose assertion is about to be verified. A client is new if it is not stored, or if it was deleted.
 *
 * @param options.isTokenRequest true at the token endpoint, where a client sends its first request. Only there is the document of
 *   a new client fetched
 * @returns undefined for a disabled client, for a new client unless `isTokenRequest`, and for a new client of a blocked domain.
 *   Also undefined if the client stops being active while its document is fetched, or if the stored document is then expired
 * @throws {Problem} `invalid-client` if the document cannot be used; `rate-limited` if the caller's address caused too many
 *   fetches, or if too many documents are being fetched
 */
export type FindUrlClient = (
  ctx: Context,
  id: AgentId,
  options: { isTokenRequest: boolean },
) => Promise<UrlClient | undefined>

/**
 * Creates the function that finds a URL client. It fetches the document if the client is new, or if the stored document
 * has expired or is ageing. The row of a new client is added when its assertion is marked as used, which happens only
 * after the assertion was verified.
 *
 * @param findStored finds the stored agent. It may read a cache, unlike `deps.agents.find`
 */
export function createUrlClientFinder(
  deps: UrlClientsDeps,
  findStored: UrlClientsDeps['agents']['find'],
): FindUrlClient {
  const { agents, urlClients, usedJtis, limiter, now } = deps

  /**
   * Fetches the document of an active client again, and stores it.
   *
   * @returns the stored client; undefined if it is no longer active
   * @throws {Problem} for the same reasons as `FindUrlClient`
   */
  async function fetchAndStore(ctx: Context, id: AgentId): Promise<StoredClient | undefined> {
    await countFetch(ctx)
    const fetched = await deps.fetchDocument(id, readCallerAddress(ctx), { isNew: false })
    const { client } = await refreshDocument(deps, id, fetched)
    if (!fetched.ok) throw createDocumentProblem(fetched.error)
    return client
  }

  /**
   * Counts a fetch against the limit of the caller's address.
   *
   * @throws {Problem} `rate-limited` over the limit
   */
  async function countFetch(ctx: Context): Promise<void> {
    enforceLimits(ctx, await limiter.takeForAddress(DOCUMENT_FETCH_LIMIT, readCallerAddress(ctx)))
  }

  const toClient = (id: AgentId, stored: StoredClient): UrlClient => ({
    id,
    keys: stored.keys,
    secrets: [],
    scopes: stored.scopes,
    credentialVersion: stored.credentialVersion,
    documentExpiresAt: stored.expiresAt,
    markAssertionUsed: async (assertion) => ({ outcome: await usedJtis.markUsed(assertion) }),
  })

  /** Returns the client with its stored keys if its document is fresh. Otherwise, first fetches the document again. */
  async function refreshIfNeeded(
    ctx: Context,
    id: AgentId,
    stored: StoredClient,
  ): Promise<UrlClient | undefined> {
    const freshness = assessFreshness(stored, now())
    if (freshness === 'fresh') return toClient(id, stored)
    try {
      const refreshed = await fetchAndStore(ctx, id)
      const isUsable = refreshed && assessFreshness(refreshed, now()) !== 'expired'
      return isUsable ? toClient(id, refreshed) : undefined
    } catch (error) {
      if (freshness === 'expired' || !(error instanceof Problem)) throw error
      // The stored document is still usable, unless a member of the fetched one is invalid. In that case,
      // `refreshDocument` has expired the stored one.
      const currentClient = toStoredClient(await agents.find(id))
      if (!currentClient || assessFreshness(currentClient, now()) === 'expired') throw error
      return toClient(id, currentClient)
    }
  }

  /** Fetches the document of a new client. Returns undefined if its domain is blocked. */
  async function fetchNewClient(ctx: Context, id: AgentId): Promise<UrlClient | undefined> {
    if (await urlClients.isBlocked(id)) return undefined
    await countFetch(ctx)
    const fetched = await deps.fetchDocument(id, readCallerAddress(ctx), { isNew: true })
    if (!fetched.ok) throw createDocumentProblem(fetched.error)
    const document = fetched.value
    return {
      id,
      keys: document.keys,
      secrets: [],
      scopes: ANONYMOUS_SCOPES,
      credentialVersion: 0,
      documentExpiresAt: document.expiresAt,
      async markAssertionUsed(assertion) {
        // A new client counts against the registration limits.
        for (const policy of LIMITS.register)
          enforceLimits(ctx, await limiter.takeForAddress(policy, readCallerAddress(ctx)))
        const activation = await urlClients.activate(id, document, assertion, (credentialVersion) =>
          deps.tokens.revokeTokensOf({ kind: 'client', id, credentialVersion }),
        )
        deps.agentCache.invalidate(id)
        // `refused` also covers a disabled client and a blocked domain. They get the same response as a key that is not current.
        if (!activation.ok) return { outcome: activation.error === 'used' ? 'used' : 'not-current' }
        return { outcome: 'accepted', credentialVersion: activation.value }
      },
    }
  }

  return async (ctx, id, { isTokenRequest }) => {
    const cachedClient = toStoredClient(await findStored(id))
    if (cachedClient && assessFreshness(cachedClient, now()) === 'fresh') return toClient(id, cachedClient)
    // Another instance may have added the client or fetched its document since the row was cached.
    const record = await agents.find(id)
    const storedClient = toStoredClient(record)
    if (storedClient) {
      // The token endpoint reads the cache. If another instance added the client since the cache was filled, the token endpoint
      // would otherwise refuse the client.
      deps.agentCache.invalidate(id)
      return await refreshIfNeeded(ctx, id, storedClient)
    }
    if (record?.agent.status === 'disabled' || !isTokenRequest) return undefined
    return await fetchNewClient(ctx, id)
  }
}

/** A stored client that is active. */
interface StoredClient extends StoredDocument {
  readonly credentialVersion: number
  readonly scopes: readonly Scope[]
}

/** Converts the record of an active client; undefined for any other. A document without times counts as expired. */
function toStoredClient(record: AgentRecord | undefined): StoredClient | undefined {
  if (record?.agent.status !== 'active') return undefined
  const { keys, dpopBound, credentialVersion, scopes, documentFetchedAt, documentExpiresAt } = record.agent
  const unixEpoch = new Date(0)
  return {
    keys,
    dpopBound,
    credentialVersion,
    scopes,
    fetchedAt: documentFetchedAt ?? unixEpoch,
    expiresAt: documentExpiresAt ?? unixEpoch,
  }
}

const readCallerAddress = (ctx: Context) => String(ctx.state['address'])

/**
 * Creates the problem for a document that cannot be used. It reveals only which member is invalid and which rule the member
 * breaks, and only if the document has its own URL as `client_id`. Otherwise, callers could probe arbitrary URLs through this
 * server.
 */
function createDocumentProblem(fault: DocumentFault): Problem {
  if (fault.kind === 'busy') return createBusyProblem()
  if (fault.kind !== 'member') return createInvalidClientProblem(UNUSABLE_DOCUMENT_DETAIL)
  return createInvalidClientProblem(`In the document at your client_id, ${fault.member} ${fault.detail}.`)
}

const UNUSABLE_DOCUMENT_DETAIL =
  'There is no usable document at your client_id. Serve it on a public host with https on port 443: status 200, no redirect, ' +
  'type application/json, at most 5 KiB, within 2 seconds, with client_id equal to its URL. Failures are cached for a minute.'

import { type AgentId, verifiedDomain } from '@plainpath/domain'
import type { DocumentFault, FetchClientDocument } from '../client-documents/client-document.ts'
import type { EndAgentDeps } from './end-agent.ts'
import type { RefreshedClient, StoredDocument, UrlClientStore } from './url-client-store.ts'

/** Tells whether the agent is known by the URL of its document. */
export const isUrlClient = (id: AgentId): boolean => verifiedDomain(id) !== undefined

/** `at`: when the failed document was requested. */
export type FetchedDocument =
  | { readonly ok: true; readonly value: StoredDocument }
  | { readonly ok: false; readonly error: DocumentFault; readonly at: Date }

/** @param address of the caller @param options.isNew whether the agent is not stored */
export type FetchDocument = (
  id: AgentId,
  address: string,
  options: { readonly isNew: boolean },
) => Promise<FetchedDocument>

/**
 * Creates the function that fetches a document and says from when it is. Simultaneous calls share a fetch, so they also share
 * the time of its request: a document must not seem newer than it is.
 */
export function documentSource(fetchClientDocument: FetchClientDocument, now: () => Date): FetchDocument {
  const inFlight = new Map<AgentId, Promise<FetchedDocument>>()
  async function fetchOnce(...[id, address, options]: Parameters<FetchDocument>): Promise<FetchedDocument> {
    const at = now()
    const fetched = await fetchClientDocument(id, address, options)
    if (!fetched.ok) return { ...fetched, at }
    const { keys, dpopBound, lifetimeMs } = fetched.value
    const expiresAt = new Date(at.getTime() + lifetimeMs)
    return { ok: true, value: { keys, dpopBound, fetchedAt: at, expiresAt } }
  }
  return (id, address, options) => {
    const shared = inFlight.get(id)
    if (shared) return shared
    const fetching = fetchOnce(id, address, options).finally(() => inFlight.delete(id))
    inFlight.set(id, fetching)
    return fetching
  }
}

export interface RefreshDocumentDeps extends EndAgentDeps {
  readonly urlClients: Pick<UrlClientStore, 'refresh' | 'expireDocument'>
}

/**
 * Applies what was fetched to an agent that exists. If a key is gone, if tokens must be bound to a key by now, or if
 * the document says that it is not that of a client with keys any more, then after it returns no earlier token of the agent is accepted. Steps and reasons are those of
 * `endAgent`. A document that could not be fetched changes nothing: the tokens end with the one that is stored.
 *
 * @param options.publish whether to publish also if nothing was revoked, since an earlier call may have failed at that
 * @returns what is stored now; undefined when the agent is not active, or the document was no use
 */
export async function refreshDocument(
  deps: RefreshDocumentDeps,
  id: AgentId,
  fetched: FetchedDocument,
  { publish = false }: { publish?: boolean } = {},
): Promise<RefreshedClient | undefined> {
  if (!fetched.ok) {
    if (fetched.error.kind === 'member') await expireDocument(deps, id, fetched.at, { onlyCurrent: true })
    return undefined
  }
  const refreshed = await revoking(deps, id, async (revokeTokens) => {
    const stored = await deps.urlClients.refresh(id, fetched.value, revokeTokens)
    return { stored, generation: stored?.revoked ? stored.generation : undefined }
  })
  if (publish && refreshed.generation === undefined)
    await deps.revoker.publishRevocation({ kind: 'client', id })
  return refreshed.stored
}

/**
 * Revokes the tokens of a URL client and lets its document be fetched before its next one.
 *
 * @param at when the document was known to be different
 * @param options as in the store
 * @returns false when there was nothing to revoke
 */
export async function expireDocument(
  deps: RefreshDocumentDeps,
  id: AgentId,
  at: Date,
  options: { onlyCurrent: boolean },
): Promise<boolean> {
  const { generation } = await revoking(deps, id, async (revokeTokens) => ({
    generation: await deps.urlClients.expireDocument(id, at, options, revokeTokens),
  }))
  return generation !== undefined
}

/** Runs a change that may raise the generation, then revokes and publishes as `endAgent` does. */
async function revoking<T extends { readonly generation: number | undefined }>(
  { tokens, cachedAgents, revoker }: EndAgentDeps,
  id: AgentId,
  change: (revokeTokens: (generation: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const revokeTokens = (generation: number) => tokens.revokeTokensOf({ kind: 'client', id, generation })
  try {
    const changed = await change(revokeTokens)
    if (changed.generation === undefined) return changed
    await revokeTokens(changed.generation)
    cachedAgents.forget(id)
    await revoker.publishRevocation({ kind: 'client', id })
    return changed
  } finally {
    cachedAgents.forget(id)
  }
}

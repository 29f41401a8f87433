import { type AgentId, getVerifiedDomain } from '@plainpath/domain'
import type { DocumentFault, FetchClientDocument } from '../client-documents/client-document.ts'
import { changeAndRevoke, type RevocationDeps } from './change-and-revoke.ts'
import type { RefreshedClient, StoredDocument, UrlClientStore } from './url-client-store.ts'

/** Returns true if an agent's id is the URL of its document. */
export const isUrlClient = (id: AgentId): boolean => getVerifiedDomain(id) !== undefined

/** The result of a fetch: the document or a fault. `requestedAt`: when the failed fetch began. */
export type FetchedDocument =
  | { readonly ok: true; readonly value: StoredDocument }
  | { readonly ok: false; readonly error: DocumentFault; readonly requestedAt: Date }

/**
 * Fetches a document.
 *
 * @param address the caller's address, by which fetches are limited
 * @param options.isNew true if the agent is not stored
 */
export type FetchDocument = (
  id: AgentId,
  address: string,
  options: { readonly isNew: boolean },
) => Promise<FetchedDocument>

/**
 * Creates the function that fetches a document and records when it was requested. Simultaneous calls for the same agent share
 * one fetch and its time, so a document does not seem newer than it is.
 */
export function createFetchDocument(
  fetchClientDocument: FetchClientDocument,
  now: () => Date,
): FetchDocument {
  const fetchesInFlight = new Map<AgentId, Promise<FetchedDocument>>()
  async function fetchOnce(
    id: AgentId,
    address: string,
    options: { readonly isNew: boolean },
  ): Promise<FetchedDocument> {
    const requestedAt = now()
    const fetched = await fetchClientDocument(id, address, options)
    if (!fetched.ok) return { ...fetched, requestedAt }
    const { keys, dpopBound, lifetimeMs } = fetched.value
    const expiresAt = new Date(requestedAt.getTime() + lifetimeMs)
    return { ok: true, value: { keys, dpopBound, fetchedAt: requestedAt, expiresAt } }
  }
  return (id, address, options) => {
    const pendingFetch = fetchesInFlight.get(id)
    if (pendingFetch) return pendingFetch
    const newFetch = fetchOnce(id, address, options).finally(() => fetchesInFlight.delete(id))
    fetchesInFlight.set(id, newFetch)
    return newFetch
  }
}

export interface RefreshDocumentDeps extends RevocationDeps {
  readonly urlClients: Pick<UrlClientStore, 'refresh' | 'expireDocument'>
}

/**
 * Applies a fetched document to an existing agent. If the document lacks a stored key, newly requires bound tokens or
 * has an invalid member, this revokes all earlier tokens of the agent; no API accepts them once it returns. If no document
 * that names the agent can be fetched, nothing changes: the tokens expire with the stored document.
 *
 * @param options.publish true to publish even if nothing was revoked, because an earlier call may have failed to publish
 * @returns `client`: the stored row after the change; undefined if the agent is not active, or the document cannot be used.
 *   `isRevoked`: whether this call revoked the tokens
 */
export async function refreshDocument(
  deps: RefreshDocumentDeps,
  id: AgentId,
  fetched: FetchedDocument,
  { publish = false }: { publish?: boolean } = {},
): Promise<{ readonly client: RefreshedClient | undefined; readonly isRevoked: boolean }> {
  if (!fetched.ok) {
    // With the fault `member`, a document that names the agent was fetched, but one of its members is invalid.
    if (fetched.error.kind !== 'member') return { client: undefined, isRevoked: false }
    const isRevoked = await expireDocument(deps, id, fetched.requestedAt, { skipExpired: true })
    if (publish && !isRevoked) await deps.revocationPublisher.publish({ kind: 'client', id })
    return { client: undefined, isRevoked }
  }
  const client = await changeAndRevoke(
    deps,
    id,
    (revokeTokens) => deps.urlClients.refresh(id, fetched.value, revokeTokens),
    (result) => (result?.revocationReason ? result.credentialVersion : undefined),
  )
  const isRevoked = client?.revocationReason !== undefined
  if (publish && !isRevoked) await deps.revocationPublisher.publish({ kind: 'client', id })
  return { client, isRevoked }
}

/**
 * Revokes the tokens of a URL client, and makes its next token request fetch the document again.
 *
 * @param requestedAt when the invalid document was requested; a document that was requested later stays in use
 * @param options see `UrlClientStore.expireDocument`
 * @returns false if there was nothing to revoke
 */
export async function expireDocument(
  deps: RefreshDocumentDeps,
  id: AgentId,
  requestedAt: Date,
  options: { skipExpired: boolean },
): Promise<boolean> {
  const credentialVersion = await changeAndRevoke(
    deps,
    id,
    (revokeTokens) => deps.urlClients.expireDocument(id, requestedAt, options, revokeTokens),
    (version) => version,
  )
  return credentialVersion !== undefined
}

/*
 * Finds the app that a request names by `client_id`, and decides when the app's document must be fetched, and
 * when an expired document, or the copy in the list of hosts, is used instead.
 */
import { AgentId, RULES } from '@plainpath/domain'
import { enforceLimits, type Limiter, Problem } from '@plainpath/http'
import type { Context } from 'koa'
import type { UrlClientStore } from '../agents/url-client-store.ts'
import { createBusyProblem } from '../client-documents/busy-problem.ts'
import type { FetchMetadataDocument } from '../client-documents/client-document.ts'
import { DOCUMENT_FETCH_LIMIT, LIMITS } from '../limits.ts'
import type { AppClient, FindAppClient } from './app-client.ts'
import type { AppClientStore, StoredAppClient } from './app-client-store.ts'
import type { AppDocument } from './app-document.ts'
import { type AppMetadata, parseAppDocument } from './app-metadata.ts'
import { type ChatHosts, validateRedirectUri } from './chat-hosts.ts'

export interface AppClientFinderDeps {
  readonly appClients: Pick<AppClientStore, 'find' | 'saveDocument'>
  readonly urlClients: Pick<UrlClientStore, 'isBlocked'>
  readonly fetchDocument: FetchMetadataDocument<AppDocument>
  readonly chatHosts: ChatHosts
  readonly limiter: Limiter
  readonly now: () => Date
}

/** Matches the ids that `AppClientStore.add` assigns. */
const REGISTERED_ID = /^app_[A-Za-z0-9_-]{22}$/

/**
 * Creates the function that finds an app.
 *
 * If an app's document cannot be fetched, the stored document is used although it has expired, so an outage of its host does not
 * end the app's connections. Without a stored document, the copy in the list of hosts is used. Neither is used if a document
 * was fetched but has an invalid member. Expired keys never authenticate an app: it has to try again later.
 */
export function createAppClientFinder(deps: AppClientFinderDeps): FindAppClient {
  const { appClients, urlClients, chatHosts, limiter, now } = deps
  const copies = readCopies(chatHosts)

  /** Returns the app with its accepted redirect URIs; undefined if none of them is accepted. */
  const toAppClient = (
    id: string,
    { redirectUris, name, applicationType, authMethod, keys }: AppMetadata,
    source: AppClient['source'],
  ): AppClient | undefined => {
    // The list may have become shorter since the app was stored.
    const acceptedUris = redirectUris.filter((uri) => validateRedirectUri(uri, chatHosts).ok)
    if (acceptedUris.length === 0) return undefined
    return {
      id,
      redirectUris: acceptedUris,
      ...(name !== undefined && { name }),
      applicationType,
      authMethod,
      keys,
      source,
    }
  }

  /**
   * Fetches and stores a document.
   *
   * @throws {Problem} `rate-limited` if the address exceeds a limit, or too many documents are being fetched
   */
  async function fetchDocument(ctx: Context, id: AgentId, isNew: boolean) {
    const address = String(ctx.state['address'])
    enforceLimits(ctx, await limiter.takeForAddress(DOCUMENT_FETCH_LIMIT, address))
    const fetched = await deps.fetchDocument(id, address, { isNew })
    if (!fetched.ok && fetched.error.kind === 'busy') throw createBusyProblem()
    if (!fetched.ok) return fetched
    // A new app counts against the limits of registrations.
    if (isNew)
      for (const policy of LIMITS.registerApp)
        enforceLimits(ctx, await limiter.takeForAddress(policy, address))
    const { metadata, ...times } = fetched.value
    await appClients.saveDocument(id, metadata, times)
    return fetched
  }

  async function findByUrl(ctx: Context, id: AgentId, mayFetch: boolean): Promise<AppClient | undefined> {
    if (await urlClients.isBlocked(id)) return undefined
    const storedClient = await appClients.find(id)
    if (storedClient && isFresh(storedClient, now())) return toAppClient(id, storedClient, 'document')
    const copy = copies.get(id)
    const chosen = chooseFallback(storedClient, copy, now())
    const chosenApp = chosen && toAppClient(id, chosen.metadata, chosen.source)
    const hasExpiredKeys = chosenApp?.authMethod === 'private_key_jwt'
    const fallback = hasExpiredKeys ? undefined : chosenApp
    if (!mayFetch) return fallback
    try {
      const fetched = await fetchDocument(ctx, id, !storedClient && !copy)
      if (fetched.ok) return toAppClient(id, fetched.value.metadata, 'document')
      // The host serves something else, so this is no outage.
      if (fetched.error.kind === 'member' || fetched.error.kind === 'other-client') return undefined
    } catch (error) {
      // An app with a fallback can be used although a fetch of its document would exceed a limit.
      if (!fallback || !(error instanceof Problem)) throw error
    }
    if (hasExpiredKeys) throw createExpiredKeysProblem()
    return fallback
  }

  return async (ctx, id, redirectUri) => {
    if (REGISTERED_ID.test(id)) {
      const storedClient = await appClients.find(id)
      return storedClient && toAppClient(id, storedClient, 'registered')
    }
    const url = AgentId.safeParse(id)
    if (!url.success || !id.startsWith('https://')) return undefined
    // A request with a redirect URI that no app may have is refused, whatever the document says.
    const mayFetch = redirectUri === undefined || validateRedirectUri(redirectUri, chatHosts).ok
    return await findByUrl(ctx, url.data, mayFetch)
  }
}

const isFresh = ({ documentExpiresAt }: StoredAppClient, now: Date) =>
  documentExpiresAt !== undefined && documentExpiresAt > now

/** Chooses what is used if an app's document cannot be fetched. Uses the copy in the list of hosts only if no document is stored. */
function chooseFallback(
  expired: StoredAppClient | undefined,
  copy: AppMetadata | undefined,
  now: Date,
): { readonly metadata: AppMetadata; readonly source: 'document' | 'pinned' } | undefined {
  if (!expired) return copy && { metadata: copy, source: 'pinned' }
  return copy || mayHaveConnections(expired, now) ? { metadata: expired, source: 'document' } : undefined
}

/** Returns true if a connection may still exist that was made while the stored document was valid. */
const mayHaveConnections = ({ documentFetchedAt }: StoredAppClient, now: Date) =>
  documentFetchedAt !== undefined &&
  now.getTime() - documentFetchedAt.getTime() < RULES.documentLongestMs + RULES.verificationMs

/**
 * Creates the problem for an app whose keys have expired while its document cannot be fetched. After `invalid-client`, apps discard
 * their tokens. Only a stored app gets this response, so callers cannot probe other URLs with it.
 */
const createExpiredKeysProblem = () =>
  new Problem('unavailable', {
    detail: `The document of this app cannot be fetched at present. Try again in ${RETRY_SECONDS} seconds.`,
    headers: { 'retry-after': String(RETRY_SECONDS) },
    cause: new Error('the document of an app with keys cannot be fetched'),
  })

/** After a failure, a document is not fetched again for this time. */
const RETRY_SECONDS = RULES.documentFailureMs / 1000

/** Reads the copies in the list of hosts, except the copies for apps with keys: outdated keys must not authenticate an app. */
function readCopies(hosts: ChatHosts): ReadonlyMap<string, AppMetadata> {
  const copies = hosts.flatMap(({ documents }) => documents.map(({ metadata }) => metadata))
  return new Map(
    copies.flatMap((copy) => {
      const parsed = parseAppDocument(copy, copy.client_id, hosts)
      if (!parsed.ok || parsed.value.keySet) return []
      return [[copy.client_id, { ...parsed.value, authMethod: 'none', keys: [] }] as const]
    }),
  )
}

/*
 * Finds the app that a request names by `client_id`, and decides when the document of a URL client must be fetched (again)
 * and when the copy in the list of hosts is used instead.
 */
import { AgentId } from '@plainpath/domain'
import { type Limiter, Problem, spendLimits } from '@plainpath/http'
import type { Context } from 'koa'
import type { UrlClientStore } from '../agents/url-client-store.ts'
import type { FetchDocumentOf } from '../client-documents/client-document.ts'
import { DOCUMENT_FETCHES, LIMITS } from '../limits.ts'
import type { AppClient, FindAppClient } from './app-client.ts'
import type { AppClientStore, StoredAppClient } from './app-client-store.ts'
import type { AppDocument } from './app-document.ts'
import { type AppMetadata, parseAppDocument } from './app-metadata.ts'
import { type ChatHosts, judgeRedirectUri } from './chat-hosts.ts'

export interface AppClientFinderDeps {
  readonly appClients: Pick<AppClientStore, 'find' | 'saveDocument'>
  readonly urlClients: Pick<UrlClientStore, 'isBlocked'>
  readonly fetchDocument: FetchDocumentOf<AppDocument>
  readonly chatHosts: ChatHosts
  readonly limiter: Limiter
  readonly now: () => Date
}

const REGISTERED = /^app_[A-Za-z0-9_-]{22}$/

/** How long until a place for a fetch is free: each takes two seconds at most. */
const BUSY_SECONDS = 2

/**
 * Creates the function that finds an app.
 *
 * The copy of a document in the list of hosts, or a stored one that has expired, is used when a host in the list does not
 * serve its document to us. Neither replaces a document that was served and is no use, which is the host's own word, and keys
 * that have expired authenticate nobody.
 */
export function appClientFinder(deps: AppClientFinderDeps): FindAppClient {
  const { appClients, urlClients, chatHosts, limiter, now } = deps
  const copies = readCopies(chatHosts)

  const toAppClient = (
    id: string,
    { redirectUris, name, applicationType, authMethod, keys }: AppMetadata,
    source: AppClient['source'],
  ): AppClient | undefined => {
    // The list may be shorter than when the app was stored.
    const accepted = redirectUris.filter((uri) => judgeRedirectUri(uri, chatHosts).ok)
    if (accepted.length === 0) return undefined
    return {
      id,
      redirectUris: accepted,
      ...(name !== undefined && { name }),
      applicationType,
      authMethod,
      keys,
      source,
    }
  }

  /** @throws {Problem} `rate-limited` */
  async function fetchDocument(ctx: Context, id: AgentId, isNew: boolean) {
    const address = String(ctx.state['address'])
    spendLimits(ctx, await limiter.takeForAddress(DOCUMENT_FETCHES, address))
    const fetched = await deps.fetchDocument(id, address, { isNew })
    if (!fetched.ok && fetched.error.kind === 'busy')
      throw new Problem('rate-limited', {
        detail: `Too many documents are being fetched for this host or address. Try again in ${BUSY_SECONDS} seconds.`,
        headers: { 'retry-after': String(BUSY_SECONDS) },
      })
    if (!fetched.ok) return fetched
    // A row costs as much as a registration.
    if (isNew)
      for (const policy of LIMITS.registerApp) spendLimits(ctx, await limiter.takeForAddress(policy, address))
    const { metadata, ...times } = fetched.value
    await appClients.saveDocument(id, metadata, times)
    return fetched
  }

  async function findByUrl(ctx: Context, id: AgentId): Promise<AppClient | undefined> {
    if (await urlClients.isBlocked(id)) return undefined
    const stored = await appClients.find(id)
    if (stored && isFresh(stored, now())) return toAppClient(id, stored, 'document')
    const copy = copies.get(id)
    const useCopy = () => {
      if (!copy || !stored) return copy && toAppClient(id, copy, 'pinned')
      return stored.authMethod === 'none' ? toAppClient(id, stored, 'document') : undefined
    }
    try {
      const fetched = await fetchDocument(ctx, id, !stored && !copy)
      if (fetched.ok) return toAppClient(id, fetched.value.metadata, 'document')
      return fetched.error.kind === 'member' ? undefined : useCopy()
    } catch (error) {
      if (!copy || !(error instanceof Problem)) throw error
      return useCopy()
    }
  }

  return async (ctx, id) => {
    if (REGISTERED.test(id)) {
      const stored = await appClients.find(id)
      return stored && toAppClient(id, stored, 'registered')
    }
    const url = AgentId.safeParse(id)
    return url.success && id.startsWith('https://') ? await findByUrl(ctx, url.data) : undefined
  }
}

const isFresh = ({ documentExpiresAt }: StoredAppClient, now: Date) =>
  documentExpiresAt !== undefined && documentExpiresAt > now

/** Reads the copies in the list of hosts. Those of apps with keys are left out: old keys must not authenticate anybody. */
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

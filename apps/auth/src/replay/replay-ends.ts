/*
 * Repeats revocations after a restore: reads them from the security events in a log, and applies those that the restored
 * backup lacks.
 */
import type { AgentId, RegistrationId } from '@plainpath/domain'
import { z } from 'zod'
import { findSecrets } from '../agents/agent-secret.ts'
import { blockDomain } from '../agents/block-domain.ts'
import { endAgent } from '../agents/end-agent.ts'
import { expireDocument } from '../agents/refresh-document.ts'
import { endSecret } from '../agents/rotate-secret.ts'
import type { Actor } from '../audit/audit-chain.ts'
import { SECURITY_EVENTS } from '../events.ts'
import type { Stores } from '../stores.ts'

const Told = z.object({ msg: z.literal('security event'), time: z.iso.datetime() })
const End = z.discriminatedUnion('event', [
  Told.extend({ event: z.literal('client-ended'), ...SECURITY_EVENTS['client-ended'].shape }),
  Told.extend({ event: z.literal('client-enabled'), ...SECURITY_EVENTS['client-enabled'].shape }),
  Told.extend({ event: z.literal('secret-ended'), ...SECURITY_EVENTS['secret-ended'].shape }),
  Told.extend({
    event: z.literal('claim-ended'),
    ...SECURITY_EVENTS['claim-ended'].pick({ registration_id: true }).shape,
  }),
  Told.extend({ event: z.literal('keys-changed'), ...SECURITY_EVENTS['keys-changed'].shape }),
  Told.extend({ event: z.literal('secret-added'), ...SECURITY_EVENTS['secret-added'].shape }),
  Told.extend({ event: z.literal('document-changed'), ...SECURITY_EVENTS['document-changed'].shape }),
  Told.extend({ event: z.literal('domain-blocked'), ...SECURITY_EVENTS['domain-blocked'].shape }),
  Told.extend({ event: z.literal('domain-unblocked'), ...SECURITY_EVENTS['domain-unblocked'].shape }),
])

/** What had ended by the end of the log. */
interface Ends {
  readonly clients: ReadonlyMap<AgentId, 'disabled' | 'deleted'>
  readonly claims: ReadonlySet<RegistrationId>
  /** The agent of each removed secret, by the id of the secret. */
  readonly secrets: ReadonlyMap<string, AgentId>
  /** Agents that replaced their credentials by new keys. */
  readonly newKeys: ReadonlySet<AgentId>
  /** The agent of each added secret, by the id of the secret. An added secret limits the lifetime of the older one. */
  readonly addedSecrets: ReadonlyMap<string, AgentId>
  /** Agents whose document lost a key. */
  readonly documents: ReadonlySet<AgentId>
  /** Blocked domains. */
  readonly domains: ReadonlySet<string>
}

/**
 * Collects what ended, from the security events of a log. Its lines may be in any order, such as those of several
 * instances joined together. A client that was enabled after it was disabled has not ended.
 */
export async function readEndedInLog(lines: AsyncIterable<object>): Promise<Ends> {
  const states = new Map<AgentId, { at: string; how: 'active' | 'disabled' | 'deleted' }>()
  const claims = new Set<RegistrationId>()
  const secrets = new Map<string, AgentId>()
  const newKeys = new Set<AgentId>()
  const addedSecrets = new Map<string, AgentId>()
  const documents = new Set<AgentId>()
  const blocks = new Map<string, { at: string; isBlocked: boolean }>()
  for await (const line of lines) {
    const { data } = End.safeParse(line)
    if (data?.event === 'claim-ended') claims.add(data.registration_id)
    if (data?.event === 'secret-ended') secrets.set(data.secret_id, data.client_id)
    if (data?.event === 'keys-changed') newKeys.add(data.client_id)
    if (data?.event === 'secret-added') addedSecrets.set(data.secret_id, data.client_id)
    if (data?.event === 'document-changed') documents.add(data.client_id)
    if (data?.event === 'domain-blocked' || data?.event === 'domain-unblocked') {
      const isBlocked = data.event === 'domain-blocked'
      if ((blocks.get(data.domain)?.at ?? '') <= data.time)
        blocks.set(data.domain, { at: data.time, isBlocked })
    }
    if (data?.event !== 'client-ended' && data?.event !== 'client-enabled') continue
    const how = data.event === 'client-ended' ? data.how : 'active'
    const earlier = states.get(data.client_id)
    if (!earlier || how === 'deleted' || (earlier.how !== 'deleted' && earlier.at <= data.time))
      states.set(data.client_id, { at: data.time, how })
  }
  const clients = new Map<AgentId, 'disabled' | 'deleted'>()
  for (const [id, { how }] of states) if (how !== 'active') clients.set(id, how)
  const domains = new Set([...blocks].flatMap(([domain, { isBlocked }]) => (isBlocked ? [domain] : [])))
  return { clients, claims, secrets, newKeys, addedSecrets, documents, domains }
}

/** How many were active in the restored database, and have been ended. */
export interface ReplayedEnds {
  readonly clients: number
  readonly claims: number
  readonly secrets: number
  /** Clients that were disabled because the backup lacks their new credentials. */
  readonly changed: number
  /** URL clients whose tokens were revoked, and whose document is fetched before their next token. */
  readonly documents: number
  readonly domains: number
}

/**
 * Ends again what had ended, one after the other, each completed before the next begins. A client that replaced its
 * credentials after the backup is disabled: the database accepts only its old credentials, which may have leaked.
 */
export async function replayEnds(
  ends: Ends,
  stores: Stores,
  { now, by }: { now: () => Date; by: Actor },
): Promise<ReplayedEnds> {
  const endedClients = new Set<AgentId>()
  // The people got the mails about these ends when they happened.
  const endClaim = (id: string) => stores.claims.end(id, 'operator', now(), { mail: false })
  const end = async (id: AgentId, how: 'disabled' | 'deleted') => {
    endedClients.add(id)
    const claim = how === 'deleted' ? await stores.claims.live(id, now()) : undefined
    if (claim) await endClaim(claim.id)
    return (await endAgent(stores, id, how)) ? 1 : 0
  }
  let clients = 0
  let claims = 0
  let secrets = 0
  let changed = 0
  let documents = 0
  let domains = 0
  for (const domain of ends.domains) {
    const { head } = await blockDomain(stores, domain, { by, reason: 'replay after a restore' }, now())
    if (head !== undefined) domains += 1
  }
  // Also where the restored document has expired: tokens from after the backup may not have.
  for (const id of ends.documents)
    if (await expireDocument(stores, id, now(), { onlyCurrent: false })) documents += 1
  for (const [id, how] of ends.clients) clients += await end(id, how)
  for (const id of ends.claims) if (await endClaim(id)) claims += 1
  for (const [secretId, id] of ends.secrets) {
    const outcome = await endSecret(stores, { id, secretId }, now())
    if (outcome === 'gone') secrets += 1
    // The secret that replaced it is newer than the backup: the only one in the database is the one that was removed.
    if (outcome === 'last') clients += await end(id, 'disabled')
  }
  for (const id of ends.newKeys) if (!endedClients.has(id)) changed += await end(id, 'disabled')
  for (const [secretId, id] of ends.addedSecrets) {
    // An added secret that was removed again leaves the older one without an expiry.
    if (endedClients.has(id) || ends.secrets.has(secretId)) continue
    const stored = await findSecrets(stores.db, id)
    if (!stored.some((secret) => secret.id === secretId)) changed += await end(id, 'disabled')
  }
  return { clients, claims, secrets, changed, documents, domains }
}

/*
 * Repeats revocations after a restore: reads them from the security events in a log, and applies those that the restored
 * backup lacks.
 */
import type { AgentId, RegistrationId } from '@plainpath/domain'
import { z } from 'zod'
import { findSecrets } from '../agents/agent-secret.ts'
import { blockDomain } from '../agents/block-domain.ts'
import { deactivateAgent } from '../agents/deactivate-agent.ts'
import { expireDocument } from '../agents/refresh-document.ts'
import { removeSecret } from '../agents/rotate-secret.ts'
import type { Actor } from '../audit/audit-chain.ts'
import { areSameKeys, computeKeyThumbprints } from '../clients/key-thumbprint.ts'
import { SECURITY_EVENTS } from '../events.ts'
import type { Stores } from '../stores.ts'

const SecurityEventLine = z.object({ msg: z.literal('security event'), time: z.iso.datetime() })
/** The events that matter; other lines are ignored. *Claim* is the older name of an e-mail verification, in events and here. */
const RevocationEvent = z.discriminatedUnion('event', [
  SecurityEventLine.extend({ event: z.literal('client-ended'), ...SECURITY_EVENTS['client-ended'].shape }),
  SecurityEventLine.extend({
    event: z.literal('client-enabled'),
    ...SECURITY_EVENTS['client-enabled'].shape,
  }),
  SecurityEventLine.extend({ event: z.literal('secret-ended'), ...SECURITY_EVENTS['secret-ended'].shape }),
  SecurityEventLine.extend({
    event: z.literal('claim-ended'),
    ...SECURITY_EVENTS['claim-ended'].pick({ registration_id: true }).shape,
  }),
  SecurityEventLine.extend({
    event: z.literal('keys-changed'),
    // Earlier releases logged no thumbprints.
    ...SECURITY_EVENTS['keys-changed'].partial({ key_thumbprints: true }).shape,
  }),
  SecurityEventLine.extend({ event: z.literal('secret-added'), ...SECURITY_EVENTS['secret-added'].shape }),
  SecurityEventLine.extend({
    event: z.literal('document-changed'),
    ...SECURITY_EVENTS['document-changed'].shape,
  }),
  SecurityEventLine.extend({
    event: z.literal('domain-blocked'),
    ...SECURITY_EVENTS['domain-blocked'].shape,
  }),
  SecurityEventLine.extend({
    event: z.literal('domain-unblocked'),
    ...SECURITY_EVENTS['domain-unblocked'].shape,
  }),
])

interface KeyReplacement {
  /** The time of the event, ISO 8601 in UTC. Such times are compared as strings. */
  readonly changedAt: string
  /** The thumbprints (RFC 7638) of the new keys; absent if an earlier release logged the replacement. */
  readonly thumbprints?: readonly string[] | undefined
}

/** The revocations in a log. */
export interface LoggedRevocations {
  /** Clients that were deleted, or disabled and not enabled again. */
  readonly clients: ReadonlyMap<AgentId, 'disabled' | 'deleted'>
  /** The e-mail verifications that were revoked. */
  readonly claims: ReadonlySet<RegistrationId>
  /** The agent of each removed secret, by the id of the secret. */
  readonly secrets: ReadonlyMap<string, AgentId>
  /** The latest replacement of keys, or of secrets by keys, of each agent. */
  readonly newKeys: ReadonlyMap<AgentId, KeyReplacement>
  /** The agent of each added secret, by the id of the secret. An added secret limits the lifetime of the older one. */
  readonly addedSecrets: ReadonlyMap<string, AgentId>
  /** URL clients whose tokens were revoked because their document changed. */
  readonly documents: ReadonlySet<AgentId>
  /** Domains that were blocked, and not unblocked again. */
  readonly domains: ReadonlySet<string>
}

/**
 * Collects the revocations from the security events of a log. The lines can be in any order, since an operator may join the
 * logs of several instances.
 */
export async function readLoggedRevocations(lines: AsyncIterable<object>): Promise<LoggedRevocations> {
  const clientStatuses = new Map<AgentId, { changedAt: string; status: 'active' | 'disabled' | 'deleted' }>()
  const claims = new Set<RegistrationId>()
  const secrets = new Map<string, AgentId>()
  const newKeys = new Map<AgentId, KeyReplacement>()
  const addedSecrets = new Map<string, AgentId>()
  const documents = new Set<AgentId>()
  const blocks = new Map<string, { changedAt: string; isBlocked: boolean }>()
  for await (const line of lines) {
    const { data: loggedEvent } = RevocationEvent.safeParse(line)
    if (loggedEvent?.event === 'claim-ended') claims.add(loggedEvent.registration_id)
    if (loggedEvent?.event === 'secret-ended') secrets.set(loggedEvent.secret_id, loggedEvent.client_id)
    if (loggedEvent?.event === 'keys-changed') {
      const { client_id: id, key_thumbprints: thumbprints, time: changedAt } = loggedEvent
      setLatest(newKeys, id, { changedAt, thumbprints })
    }
    if (loggedEvent?.event === 'secret-added') addedSecrets.set(loggedEvent.secret_id, loggedEvent.client_id)
    if (loggedEvent?.event === 'document-changed') documents.add(loggedEvent.client_id)
    if (loggedEvent?.event === 'domain-blocked' || loggedEvent?.event === 'domain-unblocked') {
      const isBlocked = loggedEvent.event === 'domain-blocked'
      setLatest(blocks, loggedEvent.domain, { changedAt: loggedEvent.time, isBlocked })
    }
    if (loggedEvent?.event !== 'client-ended' && loggedEvent?.event !== 'client-enabled') continue
    const status = loggedEvent.event === 'client-ended' ? loggedEvent.how : 'active'
    // Deletion is permanent; otherwise the latest event counts.
    const earlierStatus = clientStatuses.get(loggedEvent.client_id)
    if (
      !earlierStatus ||
      status === 'deleted' ||
      (earlierStatus.status !== 'deleted' && earlierStatus.changedAt <= loggedEvent.time)
    )
      clientStatuses.set(loggedEvent.client_id, { changedAt: loggedEvent.time, status })
  }
  const clients = new Map<AgentId, 'disabled' | 'deleted'>()
  for (const [id, { status }] of clientStatuses) if (status !== 'active') clients.set(id, status)
  const domains = new Set([...blocks].flatMap(([domain, { isBlocked }]) => (isBlocked ? [domain] : [])))
  return { clients, claims, secrets, newKeys, addedSecrets, documents, domains }
}

/** Sets the value of a key, unless the map has a later one. */
function setLatest<Key, Value extends { readonly changedAt: string }>(
  map: Map<Key, Value>,
  key: Key,
  value: Value,
): void {
  if ((map.get(key)?.changedAt ?? '') <= value.changedAt) map.set(key, value)
}

/**
 * The number of revocations of each kind, in a log or applied by a replay. A replay also counts a client that was disabled
 * already, because it disables the client again.
 */
export interface ReplayedRevocations {
  readonly clients: number
  readonly claims: number
  readonly secrets: number
  /** Clients that replaced their credentials after the backup, and are disabled for that reason. */
  readonly changed: number
  /** URL clients whose tokens were revoked, and whose document is fetched before their next token. */
  readonly documents: number
  readonly domains: number
}

/**
 * Replays the revocations, one after the other. A client that replaced its credentials after the backup is disabled:
 * the database accepts only its old credentials, which may have leaked. A client whose latest logged keys are in the
 * database is not disabled: it replaced its credentials before the backup.
 */
export async function replayRevocations(
  logged: LoggedRevocations,
  stores: Stores,
  { now, actor }: { now: () => Date; actor: Actor },
): Promise<ReplayedRevocations> {
  const deactivatedClients = new Set<AgentId>()
  // People received mails about these revocations when they happened.
  const revokeVerification = (id: string) =>
    stores.verifications.revoke(id, 'operator', now(), { mail: false })
  /** Deactivates a client, and returns how much to add to a count of clients: 1 or 0. */
  const deactivate = async (id: AgentId, how: 'disabled' | 'deleted') => {
    deactivatedClients.add(id)
    const verification = how === 'deleted' ? await stores.verifications.findLive(id, now()) : undefined
    if (verification) await revokeVerification(verification.id)
    return (await deactivateAgent(stores, { id, credentialVersion: undefined }, how)) ? 1 : 0
  }
  let clientCount = 0
  let claimCount = 0
  let secretCount = 0
  let changedClientCount = 0
  let documentCount = 0
  let domainCount = 0
  for (const domain of logged.domains) {
    const { auditHead } = await blockDomain(
      stores,
      domain,
      { actor, reason: 'replay after a restore' },
      now(),
    )
    if (auditHead !== undefined) domainCount += 1
  }
  // Clients whose restored document has expired are included, because tokens from after the backup may still be valid.
  for (const id of logged.documents)
    if (await expireDocument(stores, id, now(), { skipExpired: false })) documentCount += 1
  for (const [id, how] of logged.clients) clientCount += await deactivate(id, how)
  for (const id of logged.claims) if (await revokeVerification(id)) claimCount += 1
  for (const [secretId, id] of logged.secrets) {
    const outcome = await removeSecret(
      stores,
      { agent: { id, credentialVersion: undefined }, secretId },
      now(),
    )
    if (outcome === 'removed') secretCount += 1
    // The backup is older than the replacement secret, so the removed secret is the only one in the database.
    if (outcome === 'last') clientCount += await deactivate(id, 'disabled')
  }
  const upToDateClients = new Set<AgentId>()
  for (const [id, { thumbprints }] of logged.newKeys) {
    if (deactivatedClients.has(id)) continue
    if (thumbprints && (await hasKeys(stores, id, thumbprints))) upToDateClients.add(id)
    else changedClientCount += await deactivate(id, 'disabled')
  }
  for (const [secretId, id] of logged.addedSecrets) {
    // A client that has keys cannot add a secret, so the secret was added, and replaced by the keys, before the backup.
    if (deactivatedClients.has(id) || upToDateClients.has(id)) continue
    // If an added secret was removed again, the older one does not expire, and the client can keep using it.
    if (logged.secrets.has(secretId)) continue
    const storedSecrets = await findSecrets(stores.db, id)
    if (!storedSecrets.some((secret) => secret.id === secretId))
      changedClientCount += await deactivate(id, 'disabled')
  }
  return {
    clients: clientCount,
    claims: claimCount,
    secrets: secretCount,
    changed: changedClientCount,
    documents: documentCount,
    domains: domainCount,
  }
}

/** Returns whether the stored keys of a client are those with these thumbprints. */
async function hasKeys({ agents }: Stores, id: AgentId, thumbprints: readonly string[]): Promise<boolean> {
  const keys = (await agents.find(id))?.agent.keys ?? []
  const storedThumbprints = await computeKeyThumbprints(keys)
  return keys.length > 0 && areSameKeys(storedThumbprints, thumbprints)
}

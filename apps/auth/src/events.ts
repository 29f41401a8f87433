import { EventEmitter } from 'node:events'
import { AgentId, RegistrationId } from '@plainpath/domain'
import type { Log } from '@plainpath/http'
import { z } from 'zod'
import { describeVerifiedDomain } from './agents/proven-facts.ts'
import type { Actor } from './audit/audit-chain.ts'

const id = z.string()

/**
 * Changes to the rights of a client, key or person. They contain ids of this server, never personal data. Each is written to the
 * log, and `auth replay` reads them back.
 */
export const SECURITY_EVENTS = {
  'claim-made': z.object({ client_id: id, registration_id: id }),
  'claim-ended': z.object({ registration_id: RegistrationId, by: z.string() }),
  'claim-declined': z.object({ claim_attempt_id: id }),
  'attempt-locked': z.object({ claim_attempt_id: id }),
  'locked-attempt-tried': z.object({ client_id: id }),
  'keys-changed': z.object({ client_id: AgentId }),
  /** The document of a URL client no longer contains a key, so the tokens of the client were revoked. */
  'document-changed': z.object({ client_id: AgentId }),
  'domain-blocked': z.object({ domain: z.string() }),
  'domain-unblocked': z.object({ domain: z.string() }),
  'secret-added': z.object({ client_id: AgentId, secret_id: z.uuid() }),
  'secret-ended': z.object({ client_id: AgentId, secret_id: z.uuid() }),
  'client-ended': z.object({ client_id: AgentId, how: z.enum(['disabled', 'deleted']) }),
  'client-enabled': z.object({ client_id: AgentId }),
  /** From now on, `contact:write` needs a token that is bound to a key (RFC 9449), until `contact-unbound`. */
  'contact-bound': z.object({ client_id: AgentId }),
  'contact-unbound': z.object({ client_id: AgentId }),
  'clients-expired': z.object({ count: z.int() }),
  /** The `stop` command emits this event with `scope`. Each instance emits it without `scope` when it first sees the new epoch. */
  'tokens-stopped': z.object({ scope: id, client_id: id, epoch: z.int() }).partial(),
  'signing-keys-changed': z.object({ step: z.string(), kids: z.array(id).readonly() }),
  'api-secret-added': z.object({ resource_server: id, fingerprint: id, copy: z.literal(true).optional() }),
  'api-secret-ended': z.object({ resource_server: id, fingerprint: id, copy: z.literal(true).optional() }),
}
export type SecurityEvent = keyof typeof SECURITY_EVENTS
type SecurityEventData = { [Name in SecurityEvent]: z.input<(typeof SECURITY_EVENTS)[Name]> }

/** Events that only metrics use. */
interface MeasuredEventData {
  'token-issued': { scopes: readonly string[] }
  /** `removed`: the number of API processes that did not acknowledge before their lease expired. */
  'revocation-published': { seconds: number; removed: number }
  /** `outcome`: the outcome of fetching a client's document, one of a fixed set of names. */
  'document-fetched': { outcome: string }
  /** `host`: a label of the list of hosts, or `loopback`. */
  'sign-in': { host: string; outcome: SignInOutcome }
  /** An app registered, or was refused. `host`: a label of the list of hosts, `loopback` or `refused`. */
  'app-registered': { host: string }
  /** Emitted when a job starts, and after each successful run. */
  swept: { what: string }
}

/** The outcomes of a sign-in, or of a code. */
export const SIGN_IN_OUTCOMES = ['code-mailed', 'wrong-code', 'allowed', 'denied'] as const
export type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number]

type ListenerArguments<Data> = { [Name in keyof Data]: [Data[Name]] }

/** The events of this process. They are emitted after the change is stored. Listeners are synchronous and never throw. */
export type AuthEvents = EventEmitter<ListenerArguments<SecurityEventData & MeasuredEventData>>

export const createEvents = (): AuthEvents => new EventEmitter()

export const SECURITY_EVENT_NAMES = Object.keys(SECURITY_EVENTS) as SecurityEvent[]

/** Builds the member `verified_domain` of an event, if the client has proven a domain. */
function buildVerifiedDomainMember(ids: { client_id?: unknown }) {
  const client = AgentId.safeParse(ids.client_id)
  return client.success ? describeVerifiedDomain(client.data) : {}
}

/**
 * Logs each security event as `security event`, with its name, its ids and the verified domain of the client, for security
 * monitoring.
 *
 * @param operator the operator who runs a command; absent in the server
 */
export function logSecurityEvents(events: AuthEvents, log: Log, operator?: Actor): void {
  for (const event of SECURITY_EVENT_NAMES)
    events.on(event, (ids: object) =>
      log.info('security event', {
        event,
        ...ids,
        ...buildVerifiedDomainMember(ids),
        ...(operator && { by: 'operator', ...operator }),
      }),
    )
}

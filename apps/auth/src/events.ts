import { EventEmitter } from 'node:events'
import { AgentId, RegistrationId } from '@plainpath/domain'
import type { Log } from '@plainpath/http'
import { z } from 'zod'
import { domainMember } from './agents/proven-facts.ts'
import type { Actor } from './audit/audit-chain.ts'

const id = z.string()

/**
 * Changes to what a client, key or person may do, identified by ids of this server, never by personal data. Each is
 * written to the log, and `auth replay` reads them back.
 */
export const SECURITY_EVENTS = {
  'claim-made': z.object({ client_id: id, registration_id: id }),
  'claim-ended': z.object({ registration_id: RegistrationId, by: z.string() }),
  'claim-declined': z.object({ claim_attempt_id: id }),
  'attempt-locked': z.object({ claim_attempt_id: id }),
  'locked-attempt-tried': z.object({ client_id: id }),
  'keys-changed': z.object({ client_id: AgentId }),
  /** The document of a URL client lacks a key that it had, so its tokens were revoked. */
  'document-changed': z.object({ client_id: AgentId }),
  'domain-blocked': z.object({ domain: z.string() }),
  'domain-unblocked': z.object({ domain: z.string() }),
  'secret-added': z.object({ client_id: AgentId, secret_id: z.uuid() }),
  'secret-ended': z.object({ client_id: AgentId, secret_id: z.uuid() }),
  'client-ended': z.object({ client_id: AgentId, how: z.enum(['disabled', 'deleted']) }),
  'client-enabled': z.object({ client_id: AgentId }),
  /** From then on, `contact:write` needs a token that is bound to a key (RFC 9449), until `contact-unbound`. */
  'contact-bound': z.object({ client_id: AgentId }),
  'contact-unbound': z.object({ client_id: AgentId }),
  'clients-expired': z.object({ count: z.int() }),
  /** From the `stop` command with `scope`; from each instance that first sees the new epoch, without. */
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
  /** `removed`: how many API processes did not acknowledge before their lease expired. */
  'revocation-published': { seconds: number; removed: number }
  /** How a fetch of a client's document ended: one of a fixed set of names. */
  'document-fetched': { outcome: string }
  /** `host`: a label of the list of hosts, or `loopback`. */
  'sign-in': { host: string; outcome: SignInOutcome }
  /** An app registered, or was refused. `host`: a label of the list of hosts, `loopback` or `refused`. */
  'app-registered': { host: string }
  /** When a job starts, and after each successful run. */
  swept: { what: string }
}

/** What may become of a sign-in, or of a code. */
export const SIGN_IN_OUTCOMES = ['code-mailed', 'wrong-code', 'allowed', 'denied'] as const
export type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number]

type Listened<Data> = { [Name in keyof Data]: [Data[Name]] }

/** Events of this process, emitted after the change is stored. Listeners are synchronous and never throw. */
export type AuthEvents = EventEmitter<Listened<SecurityEventData & MeasuredEventData>>

export const createEvents = (): AuthEvents => new EventEmitter()

export const SECURITY_EVENT_NAMES = Object.keys(SECURITY_EVENTS) as SecurityEvent[]

/** The member `verified_domain` of the client that an event is about, where it has proven one. */
function domainOf(ids: { client_id?: unknown }) {
  const client = AgentId.safeParse(ids.client_id)
  return client.success ? domainMember(client.data) : {}
}

/**
 * Logs each security event as `security event`, with the name of the event, ids and the verified domain of the client, for security monitoring.
 *
 * @param operator the operator who runs a command; absent in the server
 */
export function logSecurityEvents(events: AuthEvents, log: Log, operator?: Actor): void {
  for (const event of SECURITY_EVENT_NAMES)
    events.on(event, (ids: object) =>
      log.info('security event', {
        event,
        ...ids,
        ...domainOf(ids),
        ...(operator && { by: 'operator', ...operator }),
      }),
    )
}

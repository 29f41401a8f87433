import { EventEmitter } from 'node:events'
import { AgentId, RegistrationId } from '@plainpath/domain'
import type { Log } from '@plainpath/http'
import { z } from 'zod'
import { describeVerifiedDomain } from './agents/proven-facts.ts'
import type { Actor } from './audit/audit-chain.ts'

const id = z.string()
const text = z.string()

/**
 * The security events: changes to what a client, key, domain or person can do, and attempts to do more. Their data
 * contains no names and no e-mail addresses of agents or people. The events are logged, and `auth replay` reads
 * revocations back from old logs. The events therefore keep their older names: in them, a claim is an e-mail
 * verification, and *ended* and *stopped* mean revoked.
 */
export const SECURITY_EVENTS = {
  'claim-made': z.object({ client_id: id, registration_id: id }),
  /** `by`: who ended it, such as `person` or `operator`. */
  'claim-ended': z.object({ registration_id: RegistrationId, by: text }),
  'claim-declined': z.object({ claim_attempt_id: id }),
  'attempt-locked': z.object({ claim_attempt_id: id }),
  'locked-attempt-tried': z.object({ client_id: id }),
  /** `key_thumbprints`: the thumbprints (RFC 7638) of all keys that the client has from now on. */
  'keys-changed': z.object({ client_id: AgentId, key_thumbprints: z.array(text).readonly() }),
  /** The tokens of a URL client were revoked because of its document (`UrlClientStore.refresh`, `expireDocument`). */
  'document-changed': z.object({ client_id: AgentId }),
  'domain-blocked': z.object({ domain: text }),
  'domain-unblocked': z.object({ domain: text }),
  'secret-added': z.object({ client_id: AgentId, secret_id: z.uuid() }),
  'secret-ended': z.object({ client_id: AgentId, secret_id: z.uuid() }),
  'client-ended': z.object({ client_id: AgentId, how: z.enum(['disabled', 'deleted']) }),
  'client-enabled': z.object({ client_id: AgentId }),
  /** Until `contact-unbound`, this client needs a token that is bound to a key (RFC 9449) for `contact:write`. */
  'contact-bound': z.object({ client_id: AgentId }),
  'contact-unbound': z.object({ client_id: AgentId }),
  'clients-expired': z.object({ count: z.int() }),
  /**
   * The `stop` command emits this event with `scope`, the kind of emergency revocation. An instance emits it without
   * `scope` when it issues a token to an agent and the cutoff has advanced since its previous one (`reportCutoffs`).
   */
  'tokens-stopped': z.object({ scope: text, client_id: id, epoch: z.int() }).partial(),
  'signing-keys-changed': z.object({ step: text, kids: z.array(id).readonly() }),
  /** `copy`: the command changed a copy of the file of resource servers, which an operator then puts in place. */
  'api-secret-added': z.object({ resource_server: id, fingerprint: text, copy: z.literal(true).optional() }),
  'api-secret-ended': z.object({ resource_server: id, fingerprint: text, copy: z.literal(true).optional() }),
}
export type SecurityEvent = keyof typeof SECURITY_EVENTS
type SecurityEventData = { [Name in SecurityEvent]: z.input<(typeof SECURITY_EVENTS)[Name]> }

/** Events that are counted or measured, but not logged as security events. */
interface MetricEventData {
  'token-issued': { scopes: readonly string[] }
  /** `removedCount`: the number of API processes that did not acknowledge before their lease expired. */
  'revocation-published': { seconds: number; removedCount: number }
  /** `outcome` is a metric label from a fixed list. */
  'document-fetched': { outcome: string }
  /** `host`: a label from the list of hosts, or `loopback`. */
  'sign-in': { host: string; outcome: SignInOutcome }
  /** An app registered, or its registration was refused. `host`: a label from the list of hosts, `loopback` or `refused`. */
  'app-registration': { host: string }
  /** Emitted once when a recurring sweep is scheduled, and after each successful run. */
  swept: { sweep: string }
}

/** The outcomes of a sign-in, or of one of its steps: mailing a code, or entering one. */
export const SIGN_IN_OUTCOMES = ['code-mailed', 'wrong-code', 'allowed', 'denied'] as const
export type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number]

type ListenerArguments<Data> = { [Name in keyof Data]: [Data[Name]] }

/**
 * The events of this process. An event about a change is emitted after the change is stored. Listeners must be
 * synchronous and must not throw, because an exception would reach the caller of `emit`.
 */
export type AuthEvents = EventEmitter<ListenerArguments<SecurityEventData & MetricEventData>>

export const createEvents = (): AuthEvents => new EventEmitter()

export const SECURITY_EVENT_NAMES = Object.keys(SECURITY_EVENTS) as SecurityEvent[]

/** Builds the member `verified_domain` of an event, if its client has proven a domain. */
function buildVerifiedDomainMember(data: { client_id?: unknown }) {
  const client = AgentId.safeParse(data.client_id)
  return client.success ? describeVerifiedDomain(client.data) : {}
}

/**
 * Logs each security event as `security event`, for security monitoring. The line contains the event's name, its data
 * and, if the client has one, its verified domain.
 *
 * @param operator the operator who runs a command; absent in the server
 */
export function logSecurityEvents(events: AuthEvents, log: Log, operator?: Actor): void {
  for (const event of SECURITY_EVENT_NAMES)
    events.on(event, (data: object) =>
      log.info('security event', {
        event,
        ...data,
        ...buildVerifiedDomainMember(data),
        ...(operator && { by: 'operator', ...operator }),
      }),
    )
}

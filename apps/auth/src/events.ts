import { EventEmitter } from 'node:events'
import type { Log } from '@plainpath/http'
import type { Actor } from './audit/audit-chain.ts'

/** What changes what may be done, with our own ids. */
interface SecurityEventData {
  'claim-made': { client_id: string; registration_id: string }
  'claim-ended': { registration_id: string; by: string }
  'claim-declined': { claim_attempt_id: string }
  'attempt-locked': { claim_attempt_id: string }
  'locked-attempt-tried': { client_id: string }
  'keys-changed': { client_id: string }
  'secret-added': { client_id: string; secret_id: string }
  'secret-ended': { client_id: string; secret_id: string }
  'client-ended': { client_id: string; how: 'disabled' | 'deleted' }
  'client-enabled': { client_id: string }
  'clients-expired': { count: number }
  /** With the scope by the command that does it, and without it by each instance that first sees it. */
  'tokens-stopped': { scope?: string; client_id?: string; epoch?: number }
  'signing-keys-changed': { step: string; kids: readonly string[] }
  'api-secret-added': { resource_server: string; fingerprint: string; copy?: true }
  'api-secret-ended': { resource_server: string; fingerprint: string; copy?: true }
}

/** What is counted. */
interface MeasuredEventData {
  'token-issued': { scopes: readonly string[] }
  /** `struckOff`: the API processes whose lease had to run out. */
  'end-announced': { seconds: number; struckOff: number }
  /** When sweeping begins, and after each time that it succeeded. */
  swept: { what: string }
}

type Listened<Data> = { [Name in keyof Data]: [Data[Name]] }

/** What happens in this process, told by whatever does it once it is kept. Listeners are synchronous and never throw. */
export type AuthEvents = EventEmitter<Listened<SecurityEventData & MeasuredEventData>>

export const createEvents = (): AuthEvents => new EventEmitter()

export type SecurityEvent = keyof SecurityEventData

/** Each is a line of the log; the type makes the list complete. */
const SECURITY_EVENTS: Readonly<Record<SecurityEvent, true>> = {
  'claim-made': true,
  'claim-ended': true,
  'claim-declined': true,
  'attempt-locked': true,
  'locked-attempt-tried': true,
  'keys-changed': true,
  'secret-added': true,
  'secret-ended': true,
  'client-ended': true,
  'client-enabled': true,
  'clients-expired': true,
  'tokens-stopped': true,
  'signing-keys-changed': true,
  'api-secret-added': true,
  'api-secret-ended': true,
}
export const SECURITY_EVENT_NAMES = Object.keys(SECURITY_EVENTS) as SecurityEvent[]

/**
 * Writes the line of the log that whoever watches over security waits for: `security event`, with the name of the event
 * and our own ids.
 *
 * @param operator whoever runs a command, as the audits know them; absent in the server
 */
export function logSecurityEvents(events: AuthEvents, log: Log, operator?: Actor): void {
  for (const event of SECURITY_EVENT_NAMES)
    events.on(event, (ids: object) =>
      log.info('security event', { event, ...ids, ...(operator && { by: 'operator', ...operator }) }),
    )
}

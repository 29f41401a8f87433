import type { Log, LogFields } from '@plainpath/http'
import type { Actor } from './audit-chain.ts'

export const SECURITY_EVENTS = [
  'claim-made',
  'claim-ended',
  'claim-declined',
  'attempt-locked',
  'locked-attempt-tried',
  'keys-changed',
  'secret-added',
  'secret-ended',
  'client-ended',
  'client-enabled',
  'clients-expired',
  'tokens-stopped',
  'signing-keys-changed',
  'api-secret-added',
  'api-secret-ended',
] as const
type SecurityEvent = (typeof SECURITY_EVENTS)[number]

/** Tells one event, with our own ids. */
export type TellSecurityEvent = (event: SecurityEvent, ids: LogFields) => void

/**
 * Writes the line of the log that whoever watches over security waits for: `security event`, with the name of the event
 * and our own ids.
 *
 * @param operator whoever runs a command, as the audits know them; absent in the server
 */
export const securityEventTeller =
  (log: Log, operator?: Actor): TellSecurityEvent =>
  (event, ids) =>
    log.info('security event', { event, ...ids, ...(operator && { by: 'operator', ...operator }) })

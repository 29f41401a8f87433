import { ok, type Result } from '@plainpath/domain'
import { z } from 'zod'
import { Actor, type AuditRow, type VerifiedRows, verifyRows } from '../audit/audit-chain.ts'
import { KeyState } from './signing-key.ts'

/** The audit entry for a change of the ring, in the form that is hashed. */
export const KeyAuditEntry = z.strictObject({
  at: z.iso.datetime(),
  by: Actor,
  /** A step of a rotation, such as `activate`; or `init`, `adopt`, `revoke` or `rewrap`. */
  step: z.string(),
  /** For `revoke`, the operator's reason. For `rewrap`, the number of keys and the id of the new key-encryption key. */
  reason: z.string().optional(),
  /** The version of the ring after the change. */
  ring_version: z.int(),
  /** `from` is absent for a key that the audit log did not contain before. */
  transitions: z.array(z.strictObject({ kid: z.string(), from: KeyState.optional(), to: KeyState })),
})
export type KeyAuditEntry = z.infer<typeof KeyAuditEntry>

interface VerifiedKeyAudit extends VerifiedRows {
  readonly entries: readonly KeyAuditEntry[]
}

/** Verifies the rows with `verifyRows`, and parses their entries. */
export function verifyKeyAudit(rows: readonly AuditRow[], head?: string): Result<VerifiedKeyAudit, string> {
  const verified = verifyRows(rows, head)
  if (!verified.ok) return verified
  return ok({ ...verified.value, entries: rows.map(({ entry }) => KeyAuditEntry.parse(JSON.parse(entry))) })
}

/** Computes the state of each key from the audit log. */
export function computeAuditedStates(entries: readonly KeyAuditEntry[]): ReadonlyMap<string, KeyState> {
  return new Map(entries.flatMap(({ transitions }) => transitions.map(({ kid, to }) => [kid, to] as const)))
}

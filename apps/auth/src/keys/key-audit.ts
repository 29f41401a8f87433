import { ok, type Result } from '@plainpath/domain'
import { z } from 'zod'
import { Actor, type AuditRow, type CheckedRows, checkRows } from '../audit/audit-chain.ts'
import { KeyState } from './signing-key.ts'

/** The audit entry of a change of the ring, in the form that is hashed. */
export const AuditEntry = z.strictObject({
  at: z.iso.datetime(),
  by: Actor,
  step: z.string(),
  reason: z.string().optional(),
  /** Version of the ring after the change. */
  ring_version: z.int(),
  transitions: z.array(z.strictObject({ kid: z.string(), from: KeyState.optional(), to: KeyState })),
})
export type AuditEntry = z.infer<typeof AuditEntry>

interface CheckedChain extends CheckedRows {
  readonly entries: readonly AuditEntry[]
}

/** Checks the rows as `checkRows` does, and parses their entries. */
export function checkChain(rows: readonly AuditRow[], head?: string): Result<CheckedChain, string> {
  const checked = checkRows(rows, head)
  if (!checked.ok) return checked
  return ok({ ...checked.value, entries: rows.map(({ entry }) => AuditEntry.parse(JSON.parse(entry))) })
}

/** Computes the state of each key from the audit. */
export function statesByAudit(entries: readonly AuditEntry[]): ReadonlyMap<string, KeyState> {
  return new Map(entries.flatMap(({ transitions }) => transitions.map(({ kid, to }) => [kid, to] as const)))
}

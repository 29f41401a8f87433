import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@plainpath/domain'
import { equalBytes } from '@plainpath/sealing'
import { z } from 'zod'
import { KeyState } from './signing-key.ts'

/** Who changes a key, as the operating system knows them. */
export const Actor = z.strictObject({ user: z.string().min(1), host: z.string().min(1) })
export type Actor = z.infer<typeof Actor>

/** One change of the ring, as it is hashed. */
export const AuditEntry = z.strictObject({
  at: z.iso.datetime(),
  by: Actor,
  step: z.string(),
  reason: z.string().optional(),
  /** Of the ring after the change. */
  ring_version: z.int(),
  transitions: z.array(z.strictObject({ kid: z.string(), from: KeyState.optional(), to: KeyState })),
})
export type AuditEntry = z.infer<typeof AuditEntry>

export interface AuditRow {
  readonly number: number
  /** JSON, as it was hashed. */
  readonly entry: string
  readonly hash: Buffer
}

const NOTHING: Buffer = Buffer.alloc(32)

/** @param previous the last row, if there is one */
export function nextAuditRow(previous: AuditRow | undefined, entry: AuditEntry): AuditRow {
  const number = (previous?.number ?? 0) + 1
  const text = JSON.stringify(entry)
  return { number, entry: text, hash: chainHash(previous?.hash ?? NOTHING, number, text) }
}

export interface CheckedChain {
  readonly entries: readonly AuditEntry[]
  /** Hash of the last row, base64url; undefined for an empty chain. */
  readonly head: string | undefined
  /** How many rows came after the head that was given. */
  readonly newer: number
}

/**
 * Finds a row that was edited, removed or moved. That the end was cut off shows only against a head that was kept
 * elsewhere: the one it once had must still be in the chain.
 *
 * @param rows in the order of their numbers
 * @param head base64url of a hash that the chain once ended with
 * @returns what is wrong first, in a sentence
 */
export function checkChain(rows: readonly AuditRow[], head?: string): Result<CheckedChain, string> {
  let previous = NOTHING
  let found = head === undefined ? rows.length : 0
  const entries: AuditEntry[] = []
  for (const [index, row] of rows.entries()) {
    if (row.number !== index + 1) return err(`Row ${index + 1} of the audit is missing.`)
    if (!equalBytes(row.hash, chainHash(previous, row.number, row.entry)))
      return err(`Row ${row.number} of the audit is not what was written, or stands in another place.`)
    entries.push(AuditEntry.parse(JSON.parse(row.entry)))
    previous = row.hash
    if (row.hash.toString('base64url') === head) found = row.number
  }
  if (head !== undefined && found === 0)
    return err('No row of the audit has that head: its end was cut off, or it was written anew.')
  const last = rows.at(-1)?.hash.toString('base64url')
  return ok({ entries, head: last, newer: rows.length - found })
}

/** The state of each key, by what was written down. */
export function statesByAudit(entries: readonly AuditEntry[]): ReadonlyMap<string, KeyState> {
  return new Map(entries.flatMap(({ transitions }) => transitions.map(({ kid, to }) => [kid, to] as const)))
}

const chainHash = (previous: Buffer, number: number, entry: string) =>
  createHash('sha256').update(previous).update(`${number}\n`).update(entry).digest()

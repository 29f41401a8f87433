import { createHash } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import { err, ok, type Result } from '@plainpath/domain'
import { equalBytes } from '@plainpath/sealing'
import { z } from 'zod'

/** Who does something, as the operating system knows them. */
export const Actor = z.strictObject({ user: z.string().min(1), host: z.string().min(1) })
export type Actor = z.infer<typeof Actor>

/** Whoever runs this process. */
export const thisActor = (): Actor => ({ user: userName(), host: hostname() })

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/** A row of an append-only table whose rows are chained by their hashes. */
export const AuditRow = z.object({ number: z.int(), entry: z.string(), hash: z.instanceof(Buffer) })
export interface AuditRow {
  readonly number: number
  /** JSON, as it was hashed. */
  readonly entry: string
  readonly hash: Buffer
}

const NOTHING: Buffer = Buffer.alloc(32)

/** @param previous the last row, if there is one */
export function nextChainRow(previous: AuditRow | undefined, entry: object): AuditRow {
  const number = (previous?.number ?? 0) + 1
  const text = JSON.stringify(entry)
  return { number, entry: text, hash: chainHash(previous?.hash ?? NOTHING, number, text) }
}

export interface CheckedRows {
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
export function checkRows(rows: readonly AuditRow[], head?: string): Result<CheckedRows, string> {
  let previous = NOTHING
  let found = head === undefined ? rows.length : 0
  for (const [index, row] of rows.entries()) {
    if (row.number !== index + 1) return err(`Row ${index + 1} of the audit is missing.`)
    if (!equalBytes(row.hash, chainHash(previous, row.number, row.entry)))
      return err(`Row ${row.number} of the audit is not what was written, or stands in another place.`)
    previous = row.hash
    if (headOf(row) === head) found = row.number
  }
  if (head !== undefined && found === 0)
    return err('No row of the audit has that head: its end was cut off, or it was written anew.')
  const last = rows.at(-1)
  return ok({ head: last && headOf(last), newer: rows.length - found })
}

/** How a head is written down. */
export const headOf = ({ hash }: Pick<AuditRow, 'hash'>): string => hash.toString('base64url')

const chainHash = (previous: Buffer, number: number, entry: string) =>
  createHash('sha256').update(previous).update(`${number}\n`).update(entry).digest()

import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@plainpath/domain'
import { type Database, rowReader } from '@plainpath/postgres'
import { equalBytes } from '@plainpath/sealing'
import { z } from 'zod'

/** The operating-system user who runs a command, and the host. */
export const Actor = z.strictObject({ user: z.string().min(1), host: z.string().min(1) })
export type Actor = z.infer<typeof Actor>

/** A row of an append-only table whose rows are chained by their hashes. */
const AuditRow = z.object({
  number: z.int(),
  /** JSON, as it was hashed. */
  entry: z.string(),
  hash: z.instanceof(Buffer),
})
export type AuditRow = Readonly<z.infer<typeof AuditRow>>
const Row = rowReader(AuditRow)

const NOTHING: Buffer = Buffer.alloc(32)

/** Builds the row that follows `previous`, which is undefined for an empty chain. */
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
 * Checks that no row was edited, removed or moved. Truncation at the end shows only against a head that was stored
 * elsewhere, which must still occur in the chain.
 *
 * @param rows in the order of their numbers
 * @param head base64url of a hash that the chain once ended with
 * @returns the first fault, as a sentence
 */
export function checkRows(rows: readonly AuditRow[], head?: string): Result<CheckedRows, string> {
  let previous = NOTHING
  let found = head === undefined ? rows.length : 0
  for (const [index, row] of rows.entries()) {
    if (row.number !== index + 1) return err(`Row ${index + 1} of the audit is missing.`)
    if (!equalBytes(row.hash, chainHash(previous, row.number, row.entry)))
      return err(`Row ${row.number} of the audit is not what was written, or stands in another place.`)
    previous = row.hash
    if (encodeHead(row) === head) found = row.number
  }
  if (head !== undefined && found === 0)
    return err('No row of the audit has that head: its end was cut off, or it was rewritten.')
  const last = rows.at(-1)
  return ok({ head: last && encodeHead(last), newer: rows.length - found })
}

/** Formats the hash of a row as a head: base64url. */
export const encodeHead = ({ hash }: Pick<AuditRow, 'hash'>): string => hash.toString('base64url')

const chainHash = (previous: Buffer, number: number, entry: string) =>
  createHash('sha256').update(previous).update(`${number}\n`).update(entry).digest()

/** Opens an append-only table of such rows. A caller of `append` must hold a lock that excludes other writers. */
export function auditTable(table: 'key_audit' | 'token_stop_audit' | 'blocked_domain_audit') {
  /** The last row; undefined while it is empty. */
  async function end(db: Database): Promise<AuditRow | undefined> {
    const { rows } = await db.query(`select ${Row.columns} from ${table} order by number desc limit 1`)
    return rows[0] && Row.parse(rows[0])
  }
  return {
    end,
    async all(db: Database): Promise<readonly AuditRow[]> {
      const { rows } = await db.query(`select ${Row.columns} from ${table} order by number`)
      return rows.map(Row.parse)
    },
    /** @returns the head of the audit */
    async append(tx: Database, entry: object): Promise<string> {
      const row = nextChainRow(await end(tx), entry)
      await tx.query(`insert into ${table} (${Row.columns}) values ($1, $2, $3)`, [
        row.number,
        row.entry,
        row.hash,
      ])
      return encodeHead(row)
    },
  }
}

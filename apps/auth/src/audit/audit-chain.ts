import { createHash } from 'node:crypto'
import { err, ok, type Result } from '@plainpath/domain'
import { createRowReader, type Database } from '@plainpath/postgres'
import { timingSafeEqualBytes } from '@plainpath/sealing'
import { z } from 'zod'

/** The operating-system user who runs a command, and the host name of the machine. */
export const Actor = z.strictObject({ user: z.string().min(1), host: z.string().min(1) })
export type Actor = z.infer<typeof Actor>

/** A row of an append-only table whose rows are chained by their hashes. */
const AuditRow = z.object({
  /** 1 for the first row, without gaps. */
  number: z.int(),
  /** The JSON text that was hashed. */
  entry: z.string(),
  /** SHA-256 of the previous row's hash, the number and the entry. */
  hash: z.instanceof(Buffer),
})
export type AuditRow = Readonly<z.infer<typeof AuditRow>>
const auditRowReader = createRowReader(AuditRow)

/** Stands in for the previous hash when the first row is hashed: 32 zero bytes, as long as a SHA-256 hash. */
const FIRST_PREVIOUS_HASH: Buffer = Buffer.alloc(32)

/** Builds the row that follows `previous`, which is undefined for an empty chain. */
export function buildNextRow(previous: AuditRow | undefined, entry: object): AuditRow {
  const number = (previous?.number ?? 0) + 1
  const entryText = JSON.stringify(entry)
  const previousHash = previous?.hash ?? FIRST_PREVIOUS_HASH
  return { number, entry: entryText, hash: computeHash(previousHash, number, entryText) }
}

export interface VerifiedRows {
  /** The hash of the last row, base64url; undefined for an empty chain. */
  readonly head: string | undefined
  /** The number of rows after the given head; 0 without one. */
  readonly newerCount: number
}

/**
 * Checks that no row was edited, removed or moved. Two attacks are detected only if the caller passes a `head` that was stored
 * elsewhere: removing the last rows, and recomputing all later hashes after an edit. The head protects the rows up to and
 * including its own.
 *
 * @param rows in the order of their numbers
 * @param head an audit head that was stored earlier: the hash of a row, base64url
 * @returns the current head and the number of newer rows, or the first fault as a sentence
 */
export function verifyRows(rows: readonly AuditRow[], head?: string): Result<VerifiedRows, string> {
  let previous = FIRST_PREVIOUS_HASH
  // The number of the last row that the caller already knows. With a head, it is the number of that row (0 until the row is
  // found). Without a head, all rows count as known.
  let newestKnownNumber = head === undefined ? rows.length : 0
  for (const [index, row] of rows.entries()) {
    if (row.number !== index + 1) return err(`Row ${index + 1} of the audit log is missing.`)
    if (!timingSafeEqualBytes(row.hash, computeHash(previous, row.number, row.entry)))
      return err(`Row ${row.number} of the audit log was edited or moved.`)
    previous = row.hash
    if (formatHead(row) === head) newestKnownNumber = row.number
  }
  if (head !== undefined && newestKnownNumber === 0)
    return err(
      'No row of the audit log has the given head. Check that the head is from this log and complete. Otherwise the newest rows were removed, or the log was rewritten.',
    )
  const lastRow = rows.at(-1)
  return ok({ head: lastRow && formatHead(lastRow), newerCount: rows.length - newestKnownNumber })
}

/** Formats the hash of a row as a head: base64url. */
export const formatHead = ({ hash }: Pick<AuditRow, 'hash'>): string => hash.toString('base64url')

const computeHash = (previous: Buffer, number: number, entry: string) =>
  createHash('sha256').update(previous).update(`${number}\n`).update(entry).digest()

/**
 * Creates functions that read an audit table and append to it. The caller of `append` must hold a lock that excludes other
 * writers.
 */
export function createAuditTable(table: 'key_audit' | 'token_stop_audit' | 'blocked_domain_audit') {
  /** Reads the last row; undefined for an empty table. */
  async function readLastRow(db: Database): Promise<AuditRow | undefined> {
    const { rows } = await db.query(
      `select ${auditRowReader.columns} from ${table} order by number desc limit 1`,
    )
    return rows[0] && auditRowReader.parse(rows[0])
  }
  return {
    readLast: readLastRow,
    async readAll(db: Database): Promise<readonly AuditRow[]> {
      const { rows } = await db.query(`select ${auditRowReader.columns} from ${table} order by number`)
      return rows.map(auditRowReader.parse)
    },
    /**
     * Appends an entry.
     *
     * @returns the new audit head
     */
    async append(tx: Database, entry: object): Promise<string> {
      const row = buildNextRow(await readLastRow(tx), entry)
      await tx.query(`insert into ${table} (${auditRowReader.columns}) values ($1, $2, $3)`, [
        row.number,
        row.entry,
        row.hash,
      ])
      return formatHead(row)
    },
  }
}

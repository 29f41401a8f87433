/** A mail that is ready to be kept. */
export interface SealedMail {
  /** A UUID. */
  readonly id: string
  /** What the parameters of `insertMail` stand for. */
  readonly values: readonly unknown[]
}

const COLUMNS = {
  id: 'uuid',
  kind: 'text',
  about: 'text',
  mail_sealed: 'bytea',
  message_id: 'text',
  created_at: 'timestamptz',
  overdue_at: 'timestamptz',
}

/**
 * SQL that keeps a mail: a statement, or a part of one.
 *
 * @param options.first the number of the first of its parameters, which follow each other
 * @param options.from a table of the statement: the mail is kept once for each of its rows; once when absent
 */
export function insertMail({ first, from, returning }: { first: number; from?: string; returning?: string }) {
  const values = Object.values(COLUMNS).map((type, index) => `$${first + index}::${type}`)
  return `insert into mails (${Object.keys(COLUMNS).join(', ')})
    select ${values.join(', ')}${from ? ` from ${from}` : ''}${returning ? ` returning ${returning}` : ''}`
}

import type { Database } from '@plainpath/postgres'

/** A staff act that the audit log records. */
export interface StaffAct {
  /** The name of the user who ran the command. */
  readonly actor: string
  /** The command. A `restore` is recorded as `replay`, or as `erase everything` if it ran with `--erase-everything`. */
  readonly action:
    | 'waitlist export'
    | 'waitlist forget'
    | 'contact list'
    | 'contact show'
    | 'contact erase'
    | 'contact assign'
    | 'contact answered'
    | 'contact close'
    | 'replay'
    | 'erase everything'
    | 'answers pause'
    | 'answers resume'
    | 'guides withdraw'
    | 'guides restore'
    | 'triggers disable'
    | 'triggers enable'
  /**
   * Ids, numbers, the part of the answers that was turned off or on, and the reason that the user gave. Must not contain an
   * e-mail address: rows of the audit log are never deleted, so no erasure removes it.
   */
  readonly about: string
}

/**
 * Records a staff act in the audit log (table `desk_audit`), in the transaction that performs the act. If the record cannot be
 * written, the act fails.
 */
export async function recordStaffAct(tx: Database, act: StaffAct, now: Date): Promise<void> {
  await tx.query('insert into desk_audit (at, actor, action, about) values ($1, $2, $3, $4)', [
    now,
    act.actor,
    act.action,
    act.about,
  ])
}

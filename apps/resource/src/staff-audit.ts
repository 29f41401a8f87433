import type { Database } from '@plainpath/postgres'

/** A staff act that the audit log records. */
export interface StaffAct {
  /** The name of the user who ran the command. */
  readonly actor: string
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
  /** Ids, numbers or the operator's reason. Never put an address here. */
  readonly about: string
}

/** Records a staff act in the transaction that performs the act. If the record cannot be written, the act fails. */
export async function recordStaffAct(tx: Database, act: StaffAct, now: Date): Promise<void> {
  await tx.query('insert into desk_audit (at, actor, action, about) values ($1, $2, $3, $4)', [
    now,
    act.actor,
    act.action,
    act.about,
  ])
}

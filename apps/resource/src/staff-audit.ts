import type { Database } from '@plainpath/postgres'

/** An act of staff that the audit records. */
export interface StaffAct {
  /** The name of the user who ran the command. */
  readonly actor: string
  readonly action:
    | 'waitlist export'
    | 'waitlist forget'
    | 'contact list'
    | 'contact show'
    | 'contact erase'
    | 'replay'
    | 'answers pause'
    | 'answers resume'
    | 'guides withdraw'
    | 'guides restore'
    | 'triggers disable'
    | 'triggers enable'
  /** Ids, numbers and the reasons of operators; never an address. */
  readonly about: string
}

/** Records an act of staff in the transaction that performs it: if it cannot be recorded, it is not performed. */
export async function recordStaffAct(tx: Database, act: StaffAct, now: Date): Promise<void> {
  await tx.query('insert into desk_audit (at, actor, action, about) values ($1, $2, $3, $4)', [
    now,
    act.actor,
    act.action,
    act.about,
  ])
}

import type { Database } from '@plainpath/postgres'

export interface DeskAct {
  /** Who did it: the user of the machine where the command ran. */
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

/** Writes down who read, erased, or turned off what, in the transaction that does it: what cannot be written down is not done. */
export async function auditDesk(tx: Database, act: DeskAct, now: Date): Promise<void> {
  await tx.query('insert into desk_audit (at, actor, action, about) values ($1, $2, $3, $4)', [
    now,
    act.actor,
    act.action,
    act.about,
  ])
}

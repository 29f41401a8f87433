import { err, ok, type Result } from '@plainpath/domain'
import { type Database, type Pool, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import { type Actor, AuditRow, headOf, nextChainRow } from '../audit/audit-chain.ts'
import type { AuthEvents } from '../events.ts'
import type { AppliedStop, StopEntry, Stopped, StopRefusal, StopScope } from './stop-store.ts'
import type { TokenStop } from './token-store.ts'

const StopRow = rowReader(z.object({ epoch: z.int(), issuedBefore: z.date().optional() }))
export const STOP_COLUMNS = StopRow.columns

/** What has been stopped, by the authority. */
export async function readStop(db: Database): Promise<TokenStop> {
  const { rows } = await db.query(`select ${STOP_COLUMNS} from token_stop`)
  return toStop(rows[0])
}

export type StopStore = ReturnType<typeof postgresStopStore>

/**
 * The authority on what is stopped, and the audit of it, in Postgres. Every stop holds the lock of the one row of
 * `token_stop`, whichever tokens it is about.
 */
export function postgresStopStore(db: Pool, events: AuthEvents) {
  return {
    /** Makes sure that no epoch is ever used twice, whatever becomes of the stop it is for. */
    async claimEpoch(): Promise<number> {
      const { rows } = await db.query<{ claimed: number }>(
        `update token_stop set claimed = claimed + 1
         where set_config('synchronous_commit', 'on', true) = 'on' returning claimed`,
      )
      return z.object({ claimed: z.int() }).parse(rows[0]).claimed
    },
    /**
     * Applies one stop with its row in the audit: both or neither. `announce` runs before the change becomes visible; if
     * it throws, nothing changed.
     *
     * @param options.epoch claimed before, for `all-tokens`
     * @param options.trial decides, and changes nothing
     */
    async stop(
      scope: StopScope,
      options: { by: Actor; reason: string; epoch?: number | undefined; trial?: boolean | undefined },
      announce: (stopped: Stopped) => Promise<void>,
    ): Promise<Result<AppliedStop, StopRefusal>> {
      const { by, reason, epoch, trial } = options
      const done = await db.transaction<Result<AppliedStop, StopRefusal>>(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const locked = await tx.query(`select ${STOP_COLUMNS} from token_stop for update`)
        const before = toStop(locked.rows[0])
        const now = await databaseNow(tx)
        const refusal = refusalOf(scope, now)
        if (refusal !== undefined) return err(refusal)
        const stopped = trial
          ? await foresee(tx, scope, before)
          : await apply(tx, scope, epoch ?? before.epoch)
        if (!stopped.ok) return stopped
        if (trial) return ok({ before, stopped: stopped.value, head: undefined })
        const head = await record(tx, entryOf(scope, stopped.value, { by, reason, now }))
        await announce(stopped.value)
        return ok({ before, stopped: stopped.value, head })
      })
      if (done.ok && !trial) {
        const { stopped } = done.value
        events.emit('tokens-stopped', {
          scope: scope.kind,
          ...(stopped.kind === 'client' ? { client_id: stopped.clientId } : { epoch: stopped.stop.epoch }),
        })
      }
      return done
    },
    async audit(): Promise<readonly AuditRow[]> {
      const { rows } = await db.query('select number, entry, hash from token_stop_audit order by number')
      return rows.map((row) => AuditRow.parse(row))
    },
  }
}

export function toStop(row: Record<string, unknown> | undefined): TokenStop {
  if (row === undefined) throw new Error('the table token_stop has lost its row')
  return StopRow.parse(row)
}

async function databaseNow(tx: Database): Promise<Date> {
  const { rows } = await tx.query('select clock_timestamp() as now')
  return z.object({ now: z.date() }).parse(rows[0]).now
}

const refusalOf = (scope: StopScope, now: Date): StopRefusal | undefined =>
  scope.kind === 'issued-before' && scope.at > now
    ? `${scope.at.toISOString()} is in the future: the database's clock says ${now.toISOString()}.`
    : undefined

async function apply(tx: Database, scope: StopScope, epoch: number): Promise<Result<Stopped, StopRefusal>> {
  if (scope.kind === 'client') {
    const { rows } = await tx.query<{ generation: number }>(
      `update agents set generation = generation + 1 where id = $1 and status <> 'deleted' returning generation`,
      [scope.clientId],
    )
    return ofClient(scope.clientId, rows[0]?.generation)
  }
  const { rows } = await tx.query(
    `update token_stop set epoch = greatest(epoch, $1), issued_before = greatest(issued_before, $2)
     returning ${STOP_COLUMNS}`,
    [epoch, scope.kind === 'issued-before' ? scope.at : null],
  )
  return ok({ kind: 'stop', stop: toStop(rows[0]) })
}

/** What `apply` would do. */
async function foresee(
  tx: Database,
  scope: StopScope,
  { epoch, issuedBefore }: TokenStop,
): Promise<Result<Stopped, StopRefusal>> {
  if (scope.kind === 'client') {
    const { rows } = await tx.query<{ generation: number }>(
      `select generation + 1 as generation from agents where id = $1 and status <> 'deleted'`,
      [scope.clientId],
    )
    return ofClient(scope.clientId, rows[0]?.generation)
  }
  if (scope.kind === 'all-tokens') {
    const { rows } = await tx.query<{ next: number }>('select claimed + 1 as next from token_stop')
    return ok({ kind: 'stop', stop: { epoch: rows[0]?.next ?? epoch, issuedBefore } })
  }
  const later = issuedBefore !== undefined && issuedBefore > scope.at ? issuedBefore : scope.at
  return ok({ kind: 'stop', stop: { epoch, issuedBefore: later } })
}

const ofClient = (
  clientId: Extract<StopScope, { kind: 'client' }>['clientId'],
  generation: number | undefined,
): Result<Stopped, StopRefusal> =>
  generation === undefined
    ? err(`There is no agent ${clientId}, or it was deleted, and its tokens with it.`)
    : ok({ kind: 'client', clientId, generation })

function entryOf(
  scope: StopScope,
  stopped: Stopped,
  { by, reason, now }: { by: Actor; reason: string; now: Date },
): StopEntry {
  return {
    at: now.toISOString(),
    by,
    scope: scope.kind,
    reason,
    ...(scope.kind === 'issued-before' && { issued_before: scope.at.toISOString() }),
    ...(stopped.kind === 'client'
      ? { client_id: stopped.clientId, generation: stopped.generation }
      : { epoch: stopped.stop.epoch }),
  }
}

/** @returns the head of the audit */
async function record(tx: Database, entry: StopEntry): Promise<string> {
  const { rows } = await tx.query(
    'select number, entry, hash from token_stop_audit order by number desc limit 1',
  )
  const row = nextChainRow(rows[0] && AuditRow.parse(rows[0]), entry)
  await tx.query('insert into token_stop_audit (number, entry, hash) values ($1, $2, $3)', [
    row.number,
    row.entry,
    row.hash,
  ])
  return headOf(row)
}

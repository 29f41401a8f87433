/*
 * Emergency revocations in PostgreSQL, the authority on them, with an audit row for each. It records; `stop-tokens.ts`
 * carries a revocation through to the token store and the APIs.
 */
import { type AgentId, err, ok, type Result } from '@plainpath/domain'
import { type Database, type Pool, rowReader } from '@plainpath/postgres'
import { z } from 'zod'
import { Actor, auditTable } from '../audit/audit-chain.ts'
import type { AuthEvents } from '../events.ts'
import type { TokenStop } from './token-store.ts'

/** Which tokens to revoke. */
export type StopScope =
  | { readonly kind: 'all-tokens' }
  | { readonly kind: 'issued-before'; readonly at: Date }
  | { readonly kind: 'client'; readonly clientId: AgentId }

/** What to apply to the token store. */
export type Stopped =
  | { readonly kind: 'stop'; readonly stop: TokenStop }
  | { readonly kind: 'client'; readonly clientId: AgentId; readonly generation: number }

/** An audit entry, in the form that is hashed. */
export const StopEntry = z.strictObject({
  at: z.iso.datetime(),
  by: Actor,
  scope: z.enum(['all-tokens', 'issued-before', 'client']),
  reason: z.string(),
  epoch: z.int().optional(),
  issued_before: z.iso.datetime().optional(),
  client_id: z.string().optional(),
  generation: z.int().optional(),
})
export type StopEntry = z.infer<typeof StopEntry>

export interface AppliedStop {
  /** What was revoked before. */
  readonly before: TokenStop
  readonly stopped: Stopped
  /** Head of the audit afterwards; undefined for a trial. */
  readonly head: string | undefined
}

const AUDIT = auditTable('token_stop_audit')
const StopRow = rowReader(z.object({ epoch: z.int(), issuedBefore: z.date().optional() }))
export const STOP_COLUMNS = StopRow.columns

/** Reads what emergency revocations have revoked, from the authority. */
export async function readStop(db: Database): Promise<TokenStop> {
  const { rows } = await db.query(`select ${STOP_COLUMNS} from token_stop`)
  return toStop(rows[0])
}

export type StopStore = ReturnType<typeof stopStore>

/** Opens the store. Every stop locks the single row of `token_stop`, whichever tokens it is about. */
export function stopStore(db: Pool, events: AuthEvents) {
  return {
    /** Reserves the next epoch. It is never used again, even if the stop it is for fails. */
    reserveEpoch: () => reserveEpoch(db),
    /**
     * Applies a stop and appends its audit row, in one transaction. `announce` runs before the commit; if it throws,
     * nothing changes.
     *
     * @param options.epoch reserved before, for `all-tokens`
     * @param options.trial applies the stop and rolls it back
     * @returns why it was refused, as a sentence
     */
    async stop(
      scope: StopScope,
      options: { by: Actor; reason: string; epoch?: number | undefined; trial?: boolean | undefined },
      announce: (stopped: Stopped) => Promise<void>,
    ): Promise<Result<AppliedStop, string>> {
      const { by, reason, epoch, trial } = options
      const done = await db.transaction<Result<AppliedStop, string>>(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const locked = await tx.query(`select ${STOP_COLUMNS} from token_stop for update`)
        const before = toStop(locked.rows[0])
        const now = await databaseNow(tx)
        const refusal = refuseFutureTime(scope, now)
        if (refusal !== undefined) return err(refusal)
        if (trial) await tx.query('savepoint trial')
        const reserved = trial && scope.kind === 'all-tokens' ? await reserveEpoch(tx) : epoch
        const stopped = await apply(tx, scope, reserved ?? before.epoch)
        if (trial) await tx.query('rollback to savepoint trial')
        if (!stopped.ok) return stopped
        if (trial) return ok({ before, stopped: stopped.value, head: undefined })
        const head = await AUDIT.append(tx, toEntry(scope, stopped.value, { by, reason, now }))
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
    audit: () => AUDIT.all(db),
  }
}

async function reserveEpoch(db: Database): Promise<number> {
  const { rows } = await db.query(
    `update token_stop set claimed = claimed + 1
     where set_config('synchronous_commit', 'on', true) = 'on' returning claimed`,
  )
  return z.object({ claimed: z.int() }).parse(rows[0]).claimed
}

export function toStop(row: Record<string, unknown> | undefined): TokenStop {
  if (row === undefined) throw new Error('the table token_stop has lost its row')
  return StopRow.parse(row)
}

async function databaseNow(tx: Database): Promise<Date> {
  const { rows } = await tx.query('select clock_timestamp() as now')
  return z.object({ now: z.date() }).parse(rows[0]).now
}

const refuseFutureTime = (scope: StopScope, now: Date): string | undefined =>
  scope.kind === 'issued-before' && scope.at > now
    ? `${scope.at.toISOString()} is in the future: the database's clock says ${now.toISOString()}.`
    : undefined

async function apply(tx: Database, scope: StopScope, epoch: number): Promise<Result<Stopped, string>> {
  if (scope.kind === 'client') {
    const { rows } = await tx.query<{ generation: number }>(
      `update agents set generation = generation + 1 where id = $1 and status <> 'deleted' returning generation`,
      [scope.clientId],
    )
    return toStoppedClient(scope.clientId, rows[0]?.generation)
  }
  const { rows } = await tx.query(
    `update token_stop set epoch = greatest(epoch, $1), issued_before = greatest(issued_before, $2)
     returning ${STOP_COLUMNS}`,
    [epoch, scope.kind === 'issued-before' ? scope.at : null],
  )
  return ok({ kind: 'stop', stop: toStop(rows[0]) })
}

const toStoppedClient = (
  clientId: Extract<StopScope, { kind: 'client' }>['clientId'],
  generation: number | undefined,
): Result<Stopped, string> =>
  generation === undefined
    ? err(`There is no agent ${clientId}, or it was deleted, and its tokens with it.`)
    : ok({ kind: 'client', clientId, generation })

function toEntry(
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

/*
 * Stores emergency revocations in PostgreSQL, which is the authority on them. Each revocation gets an audit row.
 * `emergency-revocation.ts` applies revocations to the token store and the APIs. The tables and the command call an emergency
 * revocation a *stop*.
 */
import { type AgentId, err, ok, type Result } from '@plainpath/domain'
import { createRowReader, type Database, type Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { Actor, type AuditRow, createAuditTable } from '../audit/audit-chain.ts'
import type { AuthEvents } from '../events.ts'
import type { TokenCutoff } from './token-store.ts'

/** The tokens to revoke. */
export type RevocationScope =
  | { readonly kind: 'all-tokens' }
  | { readonly kind: 'issued-before'; readonly at: Date }
  | { readonly kind: 'client'; readonly clientId: AgentId }

/** The change to apply to the token store. */
export type RevocationEffect =
  | { readonly kind: 'cutoff'; readonly cutoff: TokenCutoff }
  | { readonly kind: 'client'; readonly clientId: AgentId; readonly credentialVersion: number }

/** An audit entry, in the form that is hashed. */
export const RevocationEntry = z.strictObject({
  at: z.iso.datetime(),
  by: Actor,
  scope: z.enum(['all-tokens', 'issued-before', 'client']),
  reason: z.string(),
  /** The epoch of the cutoff after the revocation; absent for the scope `client`. */
  epoch: z.int().optional(),
  issued_before: z.iso.datetime().optional(),
  client_id: z.string().optional(),
  /** The new credential version of the client, under its older name. */
  generation: z.int().optional(),
})
export type RevocationEntry = z.infer<typeof RevocationEntry>

interface AppliedRevocation {
  /** The cutoff before the revocation. */
  readonly previousCutoff: TokenCutoff
  readonly effect: RevocationEffect
  /** The hash of the newest audit row after the revocation, base64url; undefined for a dry run. */
  readonly auditHead: string | undefined
}

const AUDIT = createAuditTable('token_stop_audit')
const CutoffRow = createRowReader(z.object({ epoch: z.int(), issuedBefore: z.date().optional() }))
export const CUTOFF_COLUMNS = CutoffRow.columns

/** Reads the current cutoff from the authority. */
export async function readCutoff(db: Database): Promise<TokenCutoff> {
  const { rows } = await db.query(`select ${CUTOFF_COLUMNS} from token_stop`)
  return parseCutoff(rows[0])
}

/** Stores emergency revocations. A revocation of any scope locks the single row of `token_stop`. */
export interface EmergencyRevocationStore {
  /** Reserves the next epoch. It is never reserved again, even if its revocation fails. */
  reserveEpoch(): Promise<number>
  /**
   * Applies a revocation and appends its audit row, in one transaction. `beforeCommit` runs before the commit. If it throws, the
   * transaction is rolled back.
   *
   * @param options.epoch the reserved epoch; needed only for `all-tokens`, and not in a dry run
   * @param options.dryRun true to roll the revocation back, without an audit row and without running `beforeCommit`
   * @returns the applied revocation, or a sentence that says why it was refused
   */
  revoke(
    scope: RevocationScope,
    options: { actor: Actor; reason: string; epoch?: number | undefined; dryRun?: boolean | undefined },
    beforeCommit: (effect: RevocationEffect) => Promise<void>,
  ): Promise<Result<AppliedRevocation, string>>
  readAudit(): Promise<readonly AuditRow[]>
}

export function createEmergencyRevocationStore(db: Pool, events: AuthEvents): EmergencyRevocationStore {
  return {
    reserveEpoch: () => reserveEpoch(db),
    async revoke(scope, { actor, reason, epoch, dryRun }, beforeCommit) {
      const result = await db.transaction<Result<AppliedRevocation, string>>(async (tx) => {
        await tx.query('set local synchronous_commit = on')
        const lockedRow = await tx.query(`select ${CUTOFF_COLUMNS} from token_stop for update`)
        const previousCutoff = parseCutoff(lockedRow.rows[0])
        const now = await readDatabaseTime(tx)
        const refusal = findFutureTimeMistake(scope, now)
        if (refusal !== undefined) return err(refusal)
        // A dry run applies the revocation and rolls it back, to find out its effect or the reason for a refusal.
        if (dryRun) await tx.query('savepoint dry_run')
        const reservedEpoch = dryRun && scope.kind === 'all-tokens' ? await reserveEpoch(tx) : epoch
        const effect = await applyRevocation(tx, scope, reservedEpoch ?? previousCutoff.epoch)
        if (dryRun) await tx.query('rollback to savepoint dry_run')
        if (!effect.ok) return effect
        if (dryRun) return ok({ previousCutoff, effect: effect.value, auditHead: undefined })
        const auditHead = await AUDIT.append(tx, toAuditEntry(scope, effect.value, { actor, reason, now }))
        await beforeCommit(effect.value)
        return ok({ previousCutoff, effect: effect.value, auditHead })
      })
      if (result.ok && !dryRun) {
        const { effect } = result.value
        events.emit('tokens-stopped', {
          scope: scope.kind,
          ...(effect.kind === 'client' ? { client_id: effect.clientId } : { epoch: effect.cutoff.epoch }),
        })
      }
      return result
    },
    readAudit: () => AUDIT.readAll(db),
  }
}

async function reserveEpoch(db: Database): Promise<number> {
  const { rows } = await db.query(
    `update token_stop set claimed = claimed + 1
     where set_config('synchronous_commit', 'on', true) = 'on' returning claimed`,
  )
  return z.object({ claimed: z.int() }).parse(rows[0]).claimed
}

export function parseCutoff(row: Record<string, unknown> | undefined): TokenCutoff {
  if (row === undefined) throw new Error('the table token_stop has lost its row')
  return CutoffRow.parse(row)
}

async function readDatabaseTime(tx: Database): Promise<Date> {
  const { rows } = await tx.query('select clock_timestamp() as now')
  return z.object({ now: z.date() }).parse(rows[0]).now
}

const findFutureTimeMistake = (scope: RevocationScope, now: Date): string | undefined =>
  scope.kind === 'issued-before' && scope.at > now
    ? `${scope.at.toISOString()} is in the future: the database's clock says ${now.toISOString()}.`
    : undefined

async function applyRevocation(
  tx: Database,
  scope: RevocationScope,
  epoch: number,
): Promise<Result<RevocationEffect, string>> {
  if (scope.kind === 'client') return await raiseCredentialVersion(tx, scope.clientId)
  const { rows } = await tx.query(
    `update token_stop set epoch = greatest(epoch, $1), issued_before = greatest(issued_before, $2)
     returning ${CUTOFF_COLUMNS}`,
    [epoch, scope.kind === 'issued-before' ? scope.at : null],
  )
  return ok({ kind: 'cutoff', cutoff: parseCutoff(rows[0]) })
}

async function raiseCredentialVersion(
  tx: Database,
  clientId: AgentId,
): Promise<Result<RevocationEffect, string>> {
  const { rows } = await tx.query<{ generation: number }>(
    `update agents set generation = generation + 1 where id = $1 and status <> 'deleted' returning generation`,
    [clientId],
  )
  return rows[0]
    ? ok({ kind: 'client', clientId, credentialVersion: rows[0].generation })
    : err(`There is no agent ${clientId}, or it was deleted and its tokens were revoked.`)
}

function toAuditEntry(
  scope: RevocationScope,
  effect: RevocationEffect,
  { actor, reason, now }: { actor: Actor; reason: string; now: Date },
): RevocationEntry {
  return {
    at: now.toISOString(),
    by: actor,
    scope: scope.kind,
    reason,
    ...(scope.kind === 'issued-before' && { issued_before: scope.at.toISOString() }),
    ...(effect.kind === 'client'
      ? { client_id: effect.clientId, generation: effect.credentialVersion }
      : { epoch: effect.cutoff.epoch }),
  }
}

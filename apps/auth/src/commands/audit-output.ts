import { type CommandOutput, flag, option, Refusal } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import type { z } from 'zod'
import { type AuditRow, verifyRows } from '../audit/audit-chain.ts'

/** The parameters of a command that shows an audit log. */
export const AUDIT_PARAMETERS = {
  verify: flag('--verify', 'check that no row was edited, removed or moved'),
  head: option(
    '--head <hash>',
    'with --verify: an earlier head, to detect that the newest rows were removed',
  ),
}

/** Builds the output of a command that shows an audit log: the entries, or with `--verify` the result of the verification. */
export function buildAuditOutput<Entry>(
  rows: readonly AuditRow[],
  { verify, head: givenHead }: { readonly verify: boolean; readonly head: string | undefined },
  {
    entrySchema,
    formatEntries,
    emptyText,
  }: {
    readonly entrySchema: z.ZodType<Entry>
    readonly formatEntries: (entries: readonly Entry[]) => string
    readonly emptyText: string
  },
): CommandOutput {
  if (!verify) {
    if (givenHead !== undefined)
      throw new Refusal('--head can be used only together with --verify.', { exitCode: 2 })
    const entries = rows.map(({ entry }) => entrySchema.parse(JSON.parse(entry)))
    return { json: entries, text: formatEntries(entries) || emptyText }
  }
  const verified = verifyRows(rows, givenHead)
  if (!verified.ok) throw new Refusal(verified.error)
  const { head, newerCount } = verified.value
  const newerText = givenHead === undefined ? '' : ` Rows added since the given head: ${newerCount}.`
  return {
    json: { ok: true, rows: rows.length, head, newer: newerCount },
    text: `Verified ${formatCount(rows.length, 'row')}: none was changed.${newerText} Head: ${head ?? 'none'}`,
  }
}

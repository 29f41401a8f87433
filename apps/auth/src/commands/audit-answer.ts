import { type Answer, flag, option, Refusal } from '@plainpath/commands'
import type { z } from 'zod'
import { type AuditRow, checkRows } from '../audit/audit-chain.ts'

/** Of a command that shows an audit. */
export const AUDIT_PARAMETERS = {
  verify: flag('--verify', 'check that no row was edited, removed or moved'),
  head: option('--head <hash>', 'with --verify: a head printed earlier, which finds an end that was cut off'),
}

/** The entries of an audit, or with `--verify` whether its rows are as they were written. */
export function auditAnswer<Entry>(
  rows: readonly AuditRow[],
  { verify, head: known }: { readonly verify: boolean; readonly head: string | undefined },
  shown: { entry: z.ZodType<Entry>; text(entries: readonly Entry[]): string; none: string },
): Answer {
  if (!verify) {
    if (known !== undefined) throw new Refusal('--head goes with --verify', { exitCode: 2 })
    const entries = rows.map(({ entry }) => shown.entry.parse(JSON.parse(entry)))
    return { json: entries, text: shown.text(entries) || shown.none }
  }
  const checked = checkRows(rows, known)
  if (!checked.ok) throw new Refusal(checked.error)
  const { head, newer } = checked.value
  const since = known === undefined ? '' : `, ${newer} rows newer than the one given`
  return {
    json: { ok: true, rows: rows.length, head, newer },
    text: `${rows.length} rows, none was touched. Head: ${head ?? 'none'}${since}`,
  }
}

import { type CommandOutput, flag, option, Refusal } from '@plainpath/commands'
import type { z } from 'zod'
import { type AuditRow, checkRows } from '../audit/audit-chain.ts'

/** The parameters of a command that shows an audit. */
export const AUDIT_PARAMETERS = {
  verify: flag('--verify', 'check that no row was edited, removed or moved'),
  head: option('--head <hash>', 'with --verify: a head printed earlier, which finds an end that was cut off'),
}

/** Builds the output of such a command: the entries or, with `--verify`, whether any row was changed. */
export function auditOutput<Entry>(
  rows: readonly AuditRow[],
  { verify, head: givenHead }: { readonly verify: boolean; readonly head: string | undefined },
  shown: { entry: z.ZodType<Entry>; text(entries: readonly Entry[]): string; none: string },
): CommandOutput {
  if (!verify) {
    if (givenHead !== undefined) throw new Refusal('--head goes with --verify', { exitCode: 2 })
    const entries = rows.map(({ entry }) => shown.entry.parse(JSON.parse(entry)))
    return { json: entries, text: shown.text(entries) || shown.none }
  }
  const checked = checkRows(rows, givenHead)
  if (!checked.ok) throw new Refusal(checked.error)
  const { head, newer } = checked.value
  const since = givenHead === undefined ? '' : `, ${newer} rows newer than the one given`
  return {
    json: { ok: true, rows: rows.length, head, newer },
    text: `Verified ${rows.length} rows: none was changed. Head: ${head ?? 'none'}${since}`,
  }
}

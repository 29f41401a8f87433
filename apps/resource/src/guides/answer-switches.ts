import { listGuideSections, type PackagedGuide, WITHDRAWN_NOTICE } from '@plainpath/guides'
import type { Database, Pool } from '@plainpath/postgres'
import { z } from 'zod'
import { recordStaffAct, type StaffAct } from '../staff-audit.ts'
import type { AnswerSwitches } from './guide-catalog.ts'
import { notifyGuidesChanged } from './read-published-guides.ts'

const TurnedOffPartRow = z.object({
  kind: z.enum(['answers', 'section', 'trigger']),
  target: z.string(),
  reason: z.string().nullable(),
  since: z.date(),
})
/** A part of the answers that operators turned off: all answers, a section, or a trigger. */
export type TurnedOffPart = z.infer<typeof TurnedOffPartRow>
/** Identifies a part of the answers that operators can turn off. */
export type Switch = Pick<TurnedOffPart, 'kind' | 'target'>

/** The switch that pauses all answers. */
export const ALL_ANSWERS: Switch = { kind: 'answers', target: 'all' }

/** Lists every part that operators turned off, with the reason and the time. */
export async function listTurnedOffParts(db: Database): Promise<TurnedOffPart[]> {
  const { rows } = await db.query(
    'select kind, target, reason, since from answer_switches order by kind, target',
  )
  return z.array(TurnedOffPartRow).parse(rows)
}

/** Reads the parts of answers that operators turned off. */
export async function readAnswerSwitches(db: Database): Promise<AnswerSwitches> {
  const rows = await listTurnedOffParts(db)
  const listTargets = (kind: Switch['kind']) => rows.flatMap((row) => (row.kind === kind ? row.target : []))
  return {
    paused: listTargets('answers').length > 0,
    withdrawnSections: listTargets('section'),
    disabledTriggers: listTargets('trigger'),
  }
}

/** The audit-log entry for a switch. `actor` is the operator, and `action` the command. */
interface SwitchAct {
  readonly actor: string
  readonly action: StaffAct['action']
  readonly now: Date
}

/**
 * Turns a part off on every instance, and records this in the audit log.
 *
 * @returns false if the part was turned off already; then nothing is recorded
 */
export async function turnOff(
  pool: Pool,
  part: Switch & { reason?: string | undefined },
  act: SwitchAct,
): Promise<boolean> {
  return pool.transaction((tx) => turnOffInTransaction(tx, part, act))
}

/** Does the same as `turnOff`, in a transaction of the caller. */
export async function turnOffInTransaction(
  tx: Database,
  { kind, target, reason }: Switch & { reason?: string | undefined },
  { actor, action, now }: SwitchAct,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'insert into answer_switches (kind, target, reason, since) values ($1, $2, $3, $4) on conflict do nothing',
    [kind, target, reason ?? null, now],
  )
  if (rowCount === 0) return false
  await recordStaffAct(
    tx,
    { actor, action, about: reason === undefined ? target : `${target}: ${reason}` },
    now,
  )
  await notifyGuidesChanged(tx)
  return true
}

/** Undoes `turnOff`. Returns false and records nothing if the part was not turned off. */
export async function turnOn(
  pool: Pool,
  { kind, target }: Switch,
  { actor, action, now }: SwitchAct,
): Promise<boolean> {
  return pool.transaction(async (tx) => {
    const { rowCount } = await tx.query('delete from answer_switches where kind = $1 and target = $2', [
      kind,
      target,
    ])
    if (rowCount === 0) return false
    await recordStaffAct(tx, { actor, action, about: target }, now)
    await notifyGuidesChanged(tx)
    return true
  })
}

type GuideText = Pick<PackagedGuide, 'slug' | 'title' | 'body'>

/**
 * Returns the ids of the withdrawn sections that a version of their guide does not have. The text of such a section may be in
 * this version under another heading, where `withdrawSections` cannot find it.
 */
export function findMissingSections(guide: GuideText, withdrawnIds: readonly string[]): readonly string[] {
  const presentIds = new Set(listGuideSections(guide).map(({ id }) => id))
  return withdrawnIds.filter((id) => id.split('#')[0] === guide.slug && !presentIds.has(id))
}

/**
 * Withdraws sections from an earlier version of a guide. If that version does not have one of them, replaces the text of every
 * section.
 */
export function withdrawFromEarlierVersion<Guide extends GuideText>(
  guide: Guide,
  withdrawnIds: readonly string[],
): Guide {
  const isAnyMissing = findMissingSections(guide, withdrawnIds).length > 0
  return withdrawSections(guide, isAnyMissing ? listGuideSections(guide).map(({ id }) => id) : withdrawnIds)
}

/** Replaces the text of each withdrawn section with a notice. Headings and anchors do not change. */
export function withdrawSections<Guide extends GuideText>(
  guide: Guide,
  withdrawnIds: readonly string[],
): Guide {
  const sections = listGuideSections(guide).filter(
    ({ id, markdown }) => withdrawnIds.includes(id) && markdown !== '',
  )
  // The last section is replaced first, so that the others keep their indices.
  const body = sections.reduceRight(
    (text, { start, markdown }) =>
      text.slice(0, start) + WITHDRAWN_NOTICE + text.slice(start + markdown.length),
    guide.body,
  )
  return sections.length === 0 ? guide : { ...guide, body }
}

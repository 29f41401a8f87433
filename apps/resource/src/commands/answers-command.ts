import { computeTriggerVersion, loadTriggers, type TriggerFile } from '@plainpath/answers'
import { argument, option, Refusal } from '@plainpath/commands'
import { listGuideSections, loadGuides } from '@plainpath/guides'
import type { Database } from '@plainpath/postgres'
import { listTriggerReviews, recordTriggerReview, type TriggerReview } from '../answers/trigger-reviews.ts'
import {
  ALL_ANSWERS,
  listTurnedOffParts,
  type TurnedOffPart,
  turnOff,
  turnOffInTransaction,
  turnOn,
} from '../guides/answer-switches.ts'
import { lockGuides } from '../guides/publish-guides.ts'
import { readPublishedGuides } from '../guides/read-published-guides.ts'
import { defineCommand } from './define-command.ts'
import { reviewerOption } from './guides-command.ts'

const REASON_HELP = 'the reason, for the audit log and "answers list"; no personal data'
const reasonOption = option('--reason <text>', REASON_HELP, { parse: parseReason })
const triggerArgument = argument('<id>', 'the id of a trigger, as "triggers list" prints it')
const sectionArgument = argument(
  '<section>',
  'the end of the section’s URL: slug#anchor, or slug#intro for the introduction',
)

/** The commands for answers, triggers and withdrawn sections. Every instance applies a change within two seconds. */
export const answersCommands = [
  defineCommand({
    name: 'answers list',
    summary: 'list what is turned off: answers, sections and triggers',
    opens: 'database',
    async run({ db }) {
      const turnedOffParts = await listTurnedOffParts(db)
      return {
        json: { off: turnedOffParts },
        text: turnedOffParts.map(describeTurnedOffPart).join('\n') || 'Nothing is turned off.',
      }
    },
  }),
  defineCommand({
    name: 'answers pause',
    summary: 'stop answering questions at every instance, until "answers resume"; the audit log records this',
    parameters: { reason: reasonOption },
    opens: 'database',
    async run({ db, args, operator, now }) {
      const target = { ...ALL_ANSWERS, reason: args.reason }
      if (!(await turnOff(db, target, { actor: operator.user, action: 'answers pause', now: now() })))
        throw new Refusal('Answers are already paused. Nothing was changed.')
      return {
        json: { paused: true },
        text: 'Paused answers. Every instance follows within two seconds. To undo this, run "answers resume".',
      }
    },
  }),
  defineCommand({
    name: 'answers resume',
    summary: 'answer questions again; the audit log records this',
    opens: 'database',
    async run({ db, operator, now }) {
      if (!(await turnOn(db, ALL_ANSWERS, { actor: operator.user, action: 'answers resume', now: now() })))
        throw new Refusal('Answers are not paused. Nothing was changed.')
      return { json: { paused: false }, text: 'Questions are answered again.' }
    },
  }),
  defineCommand({
    name: 'triggers list',
    summary: 'list the triggers of this release, with who reviewed each and whether it is disabled',
    opens: 'database',
    async run({ db }) {
      const disabledIds = (await listTurnedOffParts(db)).flatMap((row) =>
        row.kind === 'trigger' ? row.target : [],
      )
      const reviews = await listTriggerReviews(db)
      const triggers = loadTriggers().map((trigger) => {
        const version = computeTriggerVersion(trigger)
        const review = reviews.find((each) => each.trigger === trigger.id && each.version === version)
        return {
          id: trigger.id,
          urgency: trigger.urgency,
          version,
          disabled: disabledIds.includes(trigger.id),
          reviewed: review?.day ?? null,
          reviewedBy: review?.by ?? null,
        }
      })
      return { json: { triggers }, text: triggers.map(describeTrigger).join('\n') }
    },
  }),
  defineCommand({
    name: 'triggers review',
    summary: 'record that an attorney reviewed a trigger of this release today',
    parameters: { id: triggerArgument, by: reviewerOption },
    opens: 'database',
    async run({ db, args: { id, by }, now }) {
      const version = computeTriggerVersion(requireTrigger(id))
      const review: TriggerReview = { trigger: id, version, day: now().toISOString().slice(0, 10), by }
      await recordTriggerReview(db, review)
      return {
        json: { id, version, reviewed: review.day },
        text: `Recorded that ${by} reviewed version ${version} of ${id} on ${review.day}.`,
      }
    },
  }),
  defineCommand({
    name: 'triggers disable',
    summary:
      'stop a trigger from referring people to an attorney, until "triggers enable"; the audit log records this',
    parameters: { id: triggerArgument, reason: reasonOption },
    opens: 'database',
    async run({ db, args: { id, reason }, operator, now }) {
      requireTrigger(id)
      const target = { kind: 'trigger', target: id, reason } as const
      if (!(await turnOff(db, target, { actor: operator.user, action: 'triggers disable', now: now() })))
        throw new Refusal(`${id} is already disabled. Nothing was changed.`)
      return {
        json: { id, disabled: true },
        text: `Disabled ${id}. To undo this, run "triggers enable ${id}".`,
      }
    },
  }),
  defineCommand({
    name: 'triggers enable',
    summary: 'let a disabled trigger refer people to an attorney again; the audit log records this',
    parameters: { id: triggerArgument },
    opens: 'database',
    async run({ db, args: { id }, operator, now }) {
      const target = { kind: 'trigger', target: id } as const
      if (!(await turnOn(db, target, { actor: operator.user, action: 'triggers enable', now: now() })))
        throw new Refusal(`${id} is not disabled. Nothing was changed.`)
      return { json: { id, disabled: false }, text: `Enabled ${id}.` }
    },
  }),
  defineCommand({
    name: 'guides withdraw',
    summary:
      'hide the text of a section in its guide, in search and in answers, until "guides restore"; the audit log records this',
    parameters: {
      section: sectionArgument,
      reason: option('--reason <text>', REASON_HELP, { parse: parseReason, required: true }),
    },
    opens: 'database',
    async run({ db, args, operator, now }) {
      const id = await db.transaction(async (tx) => {
        // A publication meanwhile could remove the section.
        await lockGuides(tx)
        const target = await requireSection(tx, args.section)
        const part = { kind: 'section', target, reason: args.reason } as const
        const act = { actor: operator.user, action: 'guides withdraw', now: now() } as const
        if (!(await turnOffInTransaction(tx, part, act)))
          throw new Refusal(`${target} is already withdrawn. Nothing was changed.`)
        return target
      })
      return {
        json: { section: id, withdrawn: true },
        text: `Withdrew ${id}. To undo this, run "guides restore ${args.section}".`,
      }
    },
  }),
  defineCommand({
    name: 'guides restore',
    summary: 'show a withdrawn section again; the audit log records this',
    parameters: { section: sectionArgument },
    opens: 'database',
    async run({ db, args, operator, now }) {
      const id = removeIntroSuffix(args.section)
      const target = { kind: 'section', target: id } as const
      if (!(await turnOn(db, target, { actor: operator.user, action: 'guides restore', now: now() })))
        throw new Refusal(`${id} is not withdrawn. Nothing was changed.`)
      return { json: { section: id, withdrawn: false }, text: `${id} is shown again.` }
    },
  }),
]

/** Removes `#intro`. The id of an introduction is the slug alone, but in a command a slug would look like the whole guide. */
const removeIntroSuffix = (section: string) => section.replace(/#intro$/, '')

/**
 * Finds a section of a published guide, or of a guide of this release if nothing was ever published. Reads the stored texts as
 * they are, without a comparison with the texts of the release.
 *
 * @param section the section as the operator types it: with `#intro` for an introduction
 * @returns the id of the section
 * @throws {Refusal} if there is no such guide or section
 */
async function requireSection(db: Database, section: string): Promise<string> {
  const published = await readPublishedGuides(db, () => undefined)
  const [slug = ''] = section.split('#')
  const guide = (published?.guides ?? loadGuides()).find((each) => each.slug === slug)
  if (!guide) throw new Refusal(`${slug} is not published.`)
  const ids = listGuideSections(guide).map(({ id, key }) => (key === 'intro' ? `${id}#intro` : id))
  if (!ids.includes(section))
    throw new Refusal(`There is no section ${section}. The sections of ${slug} are: ${ids.join(', ')}.`)
  return removeIntroSuffix(section)
}

function requireTrigger(id: string): TriggerFile {
  const trigger = loadTriggers().find((each) => each.id === id)
  if (!trigger) throw new Refusal(`No trigger has the id ${id}. To list the ids, run "triggers list".`)
  return trigger
}

interface ListedTrigger extends Pick<TriggerFile, 'id' | 'urgency'> {
  readonly disabled: boolean
  /** The day of the newest review of this release's version, `YYYY-MM-DD`; null without a review. */
  readonly reviewed: string | null
  readonly reviewedBy: string | null
}

function describeTrigger({ id, urgency, disabled, reviewed, reviewedBy }: ListedTrigger): string {
  const review = reviewed === null ? 'not reviewed' : `reviewed ${reviewed} by ${reviewedBy}`
  return `${id}  ${urgency}, ${review}${disabled ? ', disabled' : ''}`
}

function parseReason(text: string): string {
  const reason = text.trim()
  if (reason === '' || reason.length > 500 || /\p{C}/u.test(reason))
    throw new Refusal('--reason must have 1 to 500 characters, and no control or format characters.')
  return reason
}

function describeTurnedOffPart({ kind, target, reason, since }: TurnedOffPart): string {
  const part = kind === 'answers' ? 'all answers' : `${kind} ${target}`
  const explanation = reason === null ? '' : `: ${reason}`
  return `${part}  since ${since.toISOString()}${explanation}`
}

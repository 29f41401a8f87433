import { readFileSync } from 'node:fs'
import { argument, createWholeNumberParser, DRY_RUN, flag, option, Refusal } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import {
  checkGuides,
  describeStatus,
  loadGuides,
  parseReadings,
  planRecheck,
  type RecheckedSource,
  type RecheckPlan,
  summarizeFreshness,
  writeRecheck,
} from '@plainpath/guides'
import { planPublishing, publishGuides, retireGuide, reviewGuide } from '../guides/publish-guides.ts'
import {
  describeMissingSections,
  isChange,
  isRefused,
  type PlannedGuide,
  type PublishingStep,
} from '../guides/publishing-plan.ts'
import { type ListedGuide, listGuides } from '../guides/read-published-guides.ts'
import { defineCommand } from './define-command.ts'

/** The option that names the attorney who reviewed a guide or a trigger. */
export const reviewerOption = option('--by <name>', 'the name of the attorney', {
  parse: parseAttorneyName,
  required: true,
})

export const guidesCommands = [
  defineCommand({
    name: 'guides list',
    summary: 'list the published and retired guides',
    opens: 'database',
    async run({ db, now }) {
      const guides = await listGuides(db, now())
      return { json: { guides }, text: guides.map(describeGuide).join('\n') || 'Nothing is published.' }
    },
  }),
  defineCommand({
    name: 'guides check',
    summary: 'check the guides of this release; exits with 1 if a guide has a mistake',
    run({ now }) {
      const guides = loadGuides()
      const findings = checkGuides(guides, now())
      const json = { guides: guides.length, findings }
      if (findings.length === 0) return { json, text: `${formatGuideCount(guides.length)}, no mistakes.` }
      return {
        json,
        text: findings.map(({ slug, check, detail }) => `${slug}: ${check}: ${detail}`).join('\n'),
        refusal: `${formatCount(findings.length, 'mistake')} in ${formatGuideCount(guides.length)}.`,
      }
    },
  }),
  defineCommand({
    name: 'guides status',
    summary:
      'show how many statements of each guide are stale, and every source, the oldest checked copy first',
    run({ now }) {
      const status = summarizeFreshness(loadGuides(), now())
      return { json: status, text: describeStatus(status) }
    },
  }),
  defineCommand({
    name: 'guides recheck',
    summary:
      'show which sources would get a new "checked" date from a file of recheck results; with --yes, update the guide files of this clone',
    parameters: {
      file: argument(
        '<file>',
        'the recheck results: a file of JSON lines, as packages/guides/README.md describes',
      ),
      yes: flag('--yes', 'write the dates, and raise the version of each changed guide'),
    },
    run({ args: { file, yes }, now }) {
      const readings = parseReadings(readReadingsFile(file))
      if (!readings.ok)
        throw new Refusal([`${file} has mistakes. Nothing was changed.`, ...readings.error].join('\n'))
      const plan = planRecheck(loadGuides(), readings.value, now())
      const writtenSlugs = yes ? writeRecheck(plan) : []
      const refusal =
        yes || plan.changes.length === 0
          ? undefined
          : 'Nothing was written. Check the changes, then add --yes.'
      return { json: { ...plan, written: writtenSlugs }, text: describeRecheck(plan, writtenSlugs), refusal }
    },
  }),
  defineCommand({
    name: 'guides diff',
    summary: 'show what "guides publish" would change',
    opens: 'database',
    async run({ db }) {
      const plan = await planPublishing(db, loadGuides())
      return { json: { guides: plan }, text: describeDifferences(plan) }
    },
  }),
  defineCommand({
    name: 'guides publish',
    summary: 'publish the new and changed guides of this release, all in one transaction',
    opens: 'database',
    async run({ db, now }) {
      const guides = loadGuides()
      const mistakes = checkGuides(guides, now()).length
      if (mistakes > 0)
        throw new Refusal(
          `Nothing was published, because the guides have ${formatCount(mistakes, 'mistake')}. To list them, run "guides check".`,
        )
      const publication = await publishGuides(db, guides, now())
      if (!publication.ok)
        throw new Refusal(
          ['Nothing was published.', ...publication.error.map(describePlannedGuide)].join('\n'),
        )
      return { json: { guides: publication.value }, text: describePublication(publication.value) }
    },
  }),
  defineCommand({
    name: 'guides retire',
    summary: 'retire a guide permanently',
    parameters: {
      slug: argument('<slug>', 'the slug of a published guide'),
      successor: option('--successor <slug>', 'the published guide to read instead', { required: true }),
      yes: flag('--yes', 'confirm: a retired guide can never be published again', ['dryRun']),
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run({ db, args: { slug, successor, yes, dryRun }, now }) {
      const retirement = await retireGuide(db, { slug, successor, dryRun: !yes }, now())
      if (!retirement.ok) throw new Refusal(RETIRE_REFUSALS[retirement.error](slug, successor))
      if (!yes)
        return {
          // Without --yes or --dry-run, the command is refused.
          json: { ok: dryRun, done: false, slug, successor },
          text: `Would retire ${slug} permanently and refer readers to ${successor}.`,
          refusal: dryRun ? undefined : 'Nothing was changed. To retire the guide, add --yes.',
        }
      return { json: { slug, successor }, text: `Retired ${slug}. Readers are referred to ${successor}.` }
    },
  }),
  defineCommand({
    name: 'guides review',
    summary: 'record that an attorney reviewed a version of a guide today',
    parameters: {
      slug: argument('<slug>', 'the slug of a published guide'),
      by: reviewerOption,
      version: option('--version <number>', 'the version (default: the published one)', {
        // The highest number of nine digits fits the integer column of the version.
        parse: createWholeNumberParser(1, 999_999_999),
      }),
    },
    opens: 'database',
    async run({ db, args: { slug, by, version: requestedVersion }, now }) {
      const review = await reviewGuide(db, { slug, by, version: requestedVersion }, now())
      if (!review.ok) throw new Refusal(REVIEW_REFUSALS[review.error](slug))
      const { version, day } = review.value
      return {
        json: { slug, version, reviewed: day },
        text: `Recorded that ${by} reviewed version ${version} of ${slug} on ${day}.`,
      }
    },
  }),
]

const RETIRE_REFUSALS = {
  'not-published': (slug: string) => `${slug} is not published.`,
  'already-retired': (slug: string) => `${slug} is already retired.`,
  'successor-not-published': (slug: string, successor: string) =>
    `${successor} cannot replace ${slug}: the successor must be another published guide.`,
}

const REVIEW_REFUSALS = {
  'not-published': (slug: string) => `${slug} is not published.`,
  'no-such-version': (slug: string) => `That version of ${slug} was never published.`,
  'version-dated-in-future': (slug: string) =>
    `The text of ${slug} is dated after today. Nothing was changed. Check the clock of this machine.`,
}

function parseAttorneyName(text: string): string {
  const name = text.trim()
  if (name === '' || name.length > 200 || /\p{C}/u.test(name))
    throw new Refusal('--by must be a name of 1 to 200 characters without control or format characters.')
  return name
}

function readReadingsFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new Refusal(`${file} cannot be read.`)
  }
}

/** Formats the changes of each changed source, a line for each skipped reading, and a summary. */
function describeRecheck({ changes, skipped }: RecheckPlan, writtenSlugs: readonly string[]): string {
  const changedSources = formatCount(changes.length, 'source')
  const isWritten = writtenSlugs.length > 0
  const summary = `${changedSources} ${isWritten ? 'got' : 'would get'} a new "checked" date. Skipped: ${formatCount(skipped.length, 'reading')}.`
  return [
    ...changes.map(describeRecheckedSource),
    ...skipped.map(({ guide, source, why }) => `  ${guide}  ${source}  skipped: ${why}`),
    isWritten ? `${summary} Wrote ${formatCount(writtenSlugs.length, 'guide file')}.` : summary,
  ].join('\n')
}

function describeRecheckedSource({ guide, source, before, after }: RecheckedSource): string {
  const members = ['checked', 'checkedBy', 'url'] as const
  const changedMembers = members.filter((member) => before[member] !== after[member])
  return [
    `${guide}  ${source}`,
    ...changedMembers.flatMap((member) => [
      `- ${member}: ${before[member]}`,
      `+ ${member}: ${after[member]}`,
    ]),
  ].join('\n')
}

function describeGuide(guide: ListedGuide): string {
  const { slug, version, updated, reviewed, reviewedBy, stale, successor } = guide
  if (successor !== null) return `${slug}  retired; replaced by ${successor}`
  const review = reviewed === null ? 'not reviewed' : `reviewed ${reviewed} by ${reviewedBy}`
  return `${slug}  version ${version}, updated ${updated}, ${review}${stale ? ', stale' : ''}`
}

const STEP_TEXTS: Record<PublishingStep, (guide: PlannedGuide) => string> = {
  add: ({ to }) => `new, version ${to}`,
  change: ({ from, to, differs }) =>
    `version ${from} to ${to}: ${differs.filter((member) => member !== 'version').join(', ')}`,
  same: ({ from }) => `version ${from}, unchanged`,
  older: ({ from, to }) => `this release has version ${to}; version ${from} stays published`,
  draft: ({ from }) =>
    from === undefined ? 'draft' : `a draft in this release; version ${from} stays published`,
  retired: () => 'retired',
  'not-in-release': ({ from }) => `not in this release; version ${from} stays published`,
  'version-not-raised': ({ from, differs }) =>
    `version ${from} is already published with different content (${differs.join(', ')}): raise the version`,
  'withdrawn-section-missing': describeMissingSections,
}

const describePlannedGuide = (guide: PlannedGuide) => `${guide.slug}  ${STEP_TEXTS[guide.step](guide)}`

/** A retired guide cannot change any more, so it counts as unchanged. */
const isUnchanged = ({ step }: PlannedGuide) => step === 'same' || step === 'retired'

/** Formats one line per guide, except for unchanged and retired guides, and a summary. */
function describeDifferences(plan: readonly PlannedGuide[]): string {
  const refusedGuides = plan.filter(isRefused)
  return [
    ...plan.filter((guide) => !isUnchanged(guide)).map(describePlannedGuide),
    `Would publish ${formatGuideCount(plan.filter(isChange).length)}. ${describeUnpublished(plan)}`,
    ...(refusedGuides.length > 0
      ? [
          `${formatGuideCount(refusedGuides.length)} cannot be published. Nothing will be published until this is resolved.`,
        ]
      : []),
  ].join('\n')
}

/** Formats one line per published guide, and a summary. */
function describePublication(plan: readonly PlannedGuide[]): string {
  const changes = plan.filter(isChange)
  return [
    ...changes.map(describePlannedGuide),
    `Published ${formatGuideCount(changes.length)}. ${describeUnpublished(plan)}`,
  ].join('\n')
}

/**
 * Formats the numbers of unchanged and of skipped guides. Skipped are drafts, older versions, and guides that this release lacks.
 */
function describeUnpublished(plan: readonly PlannedGuide[]): string {
  const skippedCount = plan.filter(
    (guide) => !isChange(guide) && !isRefused(guide) && !isUnchanged(guide),
  ).length
  return `Unchanged: ${plan.filter(isUnchanged).length}.${skippedCount > 0 ? ` Skipped: ${skippedCount}.` : ''}`
}

const formatGuideCount = (total: number) => formatCount(total, 'guide')

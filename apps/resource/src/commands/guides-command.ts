import { readFileSync } from 'node:fs'
import { argument, flag, option, Refusal, wholeNumber } from '@plainpath/commands'
import {
  checkGuides,
  describeStatus,
  freshnessStatus,
  loadGuides,
  parseReadings,
  planRecheck,
  type RecheckedSource,
  type RecheckPlan,
  writeRecheck,
} from '@plainpath/guides'
import { planPublishing, publishGuides, retireGuide, reviewGuide } from '../guides/publish-guides.ts'
import type { PlannedGuide, PublishingStep } from '../guides/publishing-plan.ts'
import { listGuides } from '../guides/read-published-guides.ts'
import { defineCommand } from './define-command.ts'

/** The attorney who read a guide or a trigger. */
export const reviewer = option('--by <name>', 'who read it', { parse: attorneyName, required: true })

export const guidesCommands = [
  defineCommand({
    name: 'guides list',
    summary: 'every published and retired guide',
    opens: 'database',
    async run({ db, now }) {
      const guides = await listGuides(db, now())
      return { json: { guides }, text: guides.map(describeListed).join('\n') || 'Nothing is published.' }
    },
  }),
  defineCommand({
    name: 'guides check',
    summary: 'look for mistakes in every guide of this release; exit code 1 when there are any',
    run({ now }) {
      const guides = loadGuides()
      const findings = checkGuides(guides, now())
      const json = { guides: guides.length, findings }
      if (findings.length === 0) return { json, text: `${guides.length} guides, no mistakes.` }
      return {
        json,
        text: findings.map(({ slug, check, detail }) => `${slug}: ${check}: ${detail}`).join('\n'),
        refusal: `${findings.length} mistakes in ${guides.length} guides.`,
      }
    },
  }),
  defineCommand({
    name: 'guides status',
    summary: 'what is stale or due in the guides of this release: by guide, and every source by age',
    run({ now }) {
      const status = freshnessStatus(loadGuides(), now())
      return { json: status, text: describeStatus(status) }
    },
  }),
  defineCommand({
    name: 'guides recheck',
    summary:
      'show which days a file of readings changes, and write them into the files of a clone with --yes',
    parameters: {
      file: argument('<file>', 'JSON lines; packages/guides/README.md describes their members'),
      yes: flag('--yes', 'write the days, and the next version of each guide'),
    },
    run({ args: { file, yes }, now }) {
      const readings = parseReadings(readReadings(file))
      if (!readings.ok) throw new Refusal([`${file} cannot be used.`, ...readings.error].join('\n'))
      const plan = planRecheck(loadGuides(), readings.value, now())
      const written = yes ? writeRecheck(plan) : []
      const refusal =
        yes || plan.changes.length === 0
          ? undefined
          : 'Nothing was written. Check the changes, then add --yes.'
      return { json: { ...plan, written }, text: describeRecheck(plan, written), refusal }
    },
  }),
  defineCommand({
    name: 'guides diff',
    summary: 'what publishing would change',
    opens: 'database',
    async run({ db }) {
      const plan = await planPublishing(db, loadGuides())
      return { json: { guides: plan }, text: describePlan(plan) }
    },
  }),
  defineCommand({
    name: 'guides publish',
    summary: 'publish every guide of this release that differs; all of them or none',
    opens: 'database',
    async run({ db, now }) {
      const guides = loadGuides()
      const mistakes = checkGuides(guides, now()).length
      if (mistakes > 0)
        throw new Refusal(`Nothing was published: ${mistakes} mistakes. "guides check" names them.`)
      const published = await publishGuides(db, guides, now())
      if (!published.ok)
        throw new Refusal(['Nothing was published.', ...published.error.map(describePlanned)].join('\n'))
      return { json: { guides: published.value }, text: describePlan(published.value) }
    },
  }),
  defineCommand({
    name: 'guides retire',
    summary: 'take a guide out of service for good',
    parameters: {
      slug: argument('<slug>', 'of a published guide'),
      successor: option('--successor <slug>', 'the published guide to read instead', { required: true }),
    },
    opens: 'database',
    async run({ db, args: { slug, successor }, now }) {
      const retired = await retireGuide(db, { slug, successor }, now())
      if (!retired.ok) throw new Refusal(RETIRE_REFUSALS[retired.error](slug, successor))
      return { json: { slug, successor }, text: `${slug} is retired; ${successor} is to be read instead.` }
    },
  }),
  defineCommand({
    name: 'guides review',
    summary: 'record that a named attorney read a version of a guide today',
    parameters: {
      slug: argument('<slug>', 'of a published guide'),
      by: reviewer,
      version: option('--version <number>', 'which version; the published one unless given', {
        parse: wholeNumber(1, 999_999_999),
      }),
    },
    opens: 'database',
    async run({ db, args: { slug, by, version: requestedVersion }, now }) {
      const review = await reviewGuide(db, { slug, by, version: requestedVersion }, now())
      if (!review.ok) throw new Refusal(REVIEW_REFUSALS[review.error](slug))
      const { version, day } = review.value
      return {
        json: { slug, version, reviewed: day },
        text: `Version ${version} of ${slug} is reviewed as of ${day}.`,
      }
    },
  }),
]

const RETIRE_REFUSALS = {
  'not-published': (slug: string) => `${slug} is not published.`,
  'already-retired': (slug: string) => `${slug} is retired already.`,
  'successor-not-published': (slug: string, successor: string) =>
    `${successor} cannot take the place of ${slug}: it is not another published guide.`,
}

const REVIEW_REFUSALS = {
  'not-published': (slug: string) => `${slug} is not published.`,
  'no-such-version': (slug: string) => `That version of ${slug} was never published.`,
  'before-the-text': (slug: string) => `Today is before the day of the text of ${slug}: look at the clock.`,
}

function attorneyName(text: string): string {
  const name = text.trim()
  if (name === '' || name.length > 200 || /\p{C}/u.test(name))
    throw new Refusal('--by must be a name of 1 to 200 characters.')
  return name
}

function readReadings(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new Refusal(`${file} cannot be read.`)
  }
}

/** Formats a line for each source that changes, then for each that does not, then the sum. */
function describeRecheck({ changes, left }: RecheckPlan, written: readonly string[]): string {
  const sum = `${changes.length} sources get a new day, ${left.length} keep theirs.`
  return [
    ...changes.map(describeRechecked),
    ...left.map(({ guide, source, why }) => `  ${guide}  ${source}  stays: ${why}`),
    written.length > 0 ? `${sum} ${written.length} guides were written.` : sum,
  ].join('\n')
}

function describeRechecked({ guide, source, before, after }: RecheckedSource): string {
  const members = ['checked', 'checkedBy', 'url'] as const
  const differing = members.filter((member) => before[member] !== after[member])
  return [
    `${guide}  ${source}`,
    ...differing.flatMap((member) => [`- ${member}: ${before[member]}`, `+ ${member}: ${after[member]}`]),
  ].join('\n')
}

type Listed = Awaited<ReturnType<typeof listGuides>>[number]

function describeListed(guide: Listed): string {
  const { slug, version, updated, reviewed, reviewedBy, stale, successor } = guide
  if (successor !== null) return `${slug}  retired, read ${successor}`
  const review = reviewed === null ? 'not reviewed' : `reviewed ${reviewed} by ${reviewedBy}`
  return `${slug}  version ${version}, updated ${updated}, ${review}${stale ? ', stale' : ''}`
}

const STEPS: Record<PublishingStep, (guide: PlannedGuide) => string> = {
  add: ({ to }) => `new, version ${to}`,
  change: ({ from, to, differs }) => `version ${from} to ${to}: ${differs.filter(isContent).join(', ')}`,
  same: ({ from }) => `version ${from}, the same`,
  older: ({ from, to }) => `version ${to} here, ${from} is published and stays`,
  draft: ({ from }) => (from === undefined ? 'draft' : `draft here, version ${from} is published and stays`),
  retired: () => 'retired',
  'not-in-release': ({ from }) => `not in this release, version ${from} is published and stays`,
  'version-not-raised': ({ from, differs }) =>
    `version ${from} is published with another content: raise the version (${differs.join(', ')})`,
}

const isContent = (member: string) => member !== 'version'

const describePlanned = (guide: PlannedGuide) => `${guide.slug}  ${STEPS[guide.step](guide)}`

/** Formats a line for each guide, and the sum. */
function describePlan(plan: readonly PlannedGuide[]): string {
  const changing = plan.filter(({ step }) => step === 'add' || step === 'change').length
  return [
    ...plan.map(describePlanned),
    `${changing} of ${plan.length} guides differ from what was published.`,
  ].join('\n')
}

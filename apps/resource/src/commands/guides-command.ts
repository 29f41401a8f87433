import { checkGuides, loadGuides } from '@plainpath/guides'
import { openPool, type Pool } from '@plainpath/postgres'
import { Command } from 'commander'
import { type Environment, loadDatabaseUrl } from '../config.ts'
import { planPublishing, publishGuides, retireGuide, reviewGuide } from '../guides/publish-guides.ts'
import type { PlannedGuide } from '../guides/publishing-plan.ts'
import { listGuides } from '../guides/read-published-guides.ts'
import { type CommandIo, Refusal } from './command-io.ts'
import { describePlan, refusedVersions } from './describe-plan.ts'

interface ForPrograms {
  readonly json?: boolean
}

export function guidesCommand(env: Environment, io: CommandIo, now: () => Date): Command {
  const guides = new Command('guides').description(
    'the guides of this release, and what is published of them',
  )
  const add = (usage: string, description: string) =>
    guides.command(usage).description(description).option('--json', 'for programs')
  const print = (options: ForPrograms, value: object, lines: string) =>
    io.print(options.json ? JSON.stringify(value) : lines)

  add('list', 'every published and retired guide').action(async (options: ForPrograms) => {
    await using pool = openCommandPool(env)
    const listed = await listGuides(pool, now())
    print(options, { guides: listed }, listed.map(describeListed).join('\n') || 'Nothing is published.')
  })
  add('check', 'look for mistakes in every guide of this release; exit code 1 when there are any').action(
    (options: ForPrograms) => {
      const checked = loadGuides()
      const findings = checkGuides(checked, now())
      if (options.json) io.print(JSON.stringify({ guides: checked.length, findings }))
      else for (const { slug, check, detail } of findings) io.print(`${slug}: ${check}: ${detail}`)
      if (findings.length > 0) throw new Refusal(`${findings.length} mistakes in ${checked.length} guides.`)
      if (!options.json) io.print(`${checked.length} guides, no mistakes.`)
    },
  )
  add('diff', 'what publishing would change').action(async (options: ForPrograms) => {
    await using pool = openCommandPool(env)
    const plan = await planPublishing(pool, loadGuides())
    print(options, { guides: plan }, describePlan(plan))
  })
  add('publish', 'publish every guide of this release that differs; all of them or none').action(
    async (options: ForPrograms) => {
      await using pool = openCommandPool(env)
      const plan = await publishAll(pool, now())
      print(options, { guides: plan }, describePlan(plan))
    },
  )
  add('retire', 'take a guide out of service for good')
    .argument('<slug>')
    .requiredOption('--successor <slug>', 'the published guide to read instead')
    .action(async (slug: string, options: ForPrograms & { successor: string }) => {
      const { successor } = options
      await using pool = openCommandPool(env)
      const retired = await retireGuide(pool, { slug, successor }, now())
      if (!retired.ok) throw new Refusal(RETIRE_REFUSALS[retired.error](slug, successor))
      print(options, { slug, successor }, `${slug} is retired; ${successor} is to be read instead.`)
    })
  add('review', 'record that an attorney read the published version of a guide today')
    .argument('<slug>')
    .requiredOption('--by <name>', 'who read it', attorneyName)
    .action(async (slug: string, options: ForPrograms & { by: string }) => {
      await using pool = openCommandPool(env)
      const review = await reviewGuide(pool, { slug, by: options.by }, now())
      if (!review.ok) throw new Refusal(REVIEW_REFUSALS[review.error](slug))
      const { version, day } = review.value
      print(
        options,
        { slug, version, reviewed: day },
        `Version ${version} of ${slug} is reviewed as of ${day}.`,
      )
    })
  return guides
}

const RETIRE_REFUSALS = {
  'not-published': (slug: string) => `${slug} is not published.`,
  'already-retired': (slug: string) => `${slug} is retired already.`,
  'successor-not-published': (slug: string, successor: string) =>
    `${successor} cannot take the place of ${slug}: it is not another published guide.`,
}

const REVIEW_REFUSALS = {
  'not-published': (slug: string) => `${slug} is not published.`,
  'before-the-text': (slug: string) => `Today is before the day of the text of ${slug}: look at the clock.`,
}

const openCommandPool = (env: Environment) =>
  openPool(loadDatabaseUrl(env), { max: 1, applicationName: 'plainpath resource command' })

async function publishAll(pool: Pool, now: Date): Promise<readonly PlannedGuide[]> {
  const packaged = loadGuides()
  const mistakes = checkGuides(packaged, now).length
  if (mistakes > 0)
    throw new Refusal(`Nothing was published: ${mistakes} mistakes. "guides check" names them.`)
  const published = await publishGuides(pool, packaged, now)
  if (!published.ok) throw new Refusal(refusedVersions(published.error))
  return published.value
}

function attorneyName(text: string): string {
  const name = text.trim()
  if (name === '' || name.length > 200 || /\p{C}/u.test(name))
    throw new Refusal('--by must be a name of 1 to 200 characters.')
  return name
}

type Listed = Awaited<ReturnType<typeof listGuides>>[number]

function describeListed(guide: Listed): string {
  const { slug, version, updated, reviewed, reviewedBy, stale, successor } = guide
  if (successor !== null) return `${slug}  retired, read ${successor}`
  const review = reviewed === null ? 'not reviewed' : `reviewed ${reviewed} by ${reviewedBy}`
  return `${slug}  version ${version}, updated ${updated}, ${review}${stale ? ', stale' : ''}`
}

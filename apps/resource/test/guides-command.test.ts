import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { publishFirstGuides } from '../src/guides/publish-guides.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { runResource } from './run-resource.ts'

const resources = new AsyncDisposableStack()
let database: TestDatabase
beforeAll(async () => {
  database = resources.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
})
afterAll(() => resources.disposeAsync())

const run = (...args: string[]) =>
  runResource(['guides', ...args], { RESOURCE_DATABASE_URL: database.appUrl })

const guideCount = loadGuides().length

test('list and diff reflect each publication, review and retirement', async () => {
  expect(await run('list')).toEqual({ code: 0, out: 'Nothing is published.', errors: '' })
  expect((await run('diff')).out).toContain(`Would publish ${guideCount} guides. Unchanged: 0.`)
  expect((await run('diff')).out).toMatch(/^work-permit {2}new, version \d+$/m)

  expect(await run('publish')).toMatchObject({
    code: 0,
    out: expect.stringContaining(`Published ${guideCount} guides. Unchanged: 0.`),
  })
  expect((await run('publish')).out).toBe(`Published 0 guides. Unchanged: ${guideCount}.`)
  expect((await run('diff')).out).toBe(`Would publish 0 guides. Unchanged: ${guideCount}.`)
  expect(JSON.parse((await run('diff', '--json')).out)).toMatchObject({
    guides: expect.arrayContaining([
      expect.objectContaining({ slug: 'work-permit', step: 'same', differs: [] }),
    ]),
  })
  expect((await run('list')).out).toMatch(
    /^work-permit {2}version \d+, updated \d{4}-\d\d-\d\d, not reviewed/m,
  )

  expect((await run('review', 'work-permit', '--by', 'A. Attorney')).out).toMatch(
    /^Recorded that A\. Attorney reviewed version \d+ of work-permit on \d{4}-\d\d-\d\d\.$/,
  )
  expect((await run('list')).out).toMatch(/^work-permit {2}.* reviewed \d{4}-\d\d-\d\d by A\. Attorney/m)

  const retireArgs = ['retire', 'work-permit', '--successor', 'find-legal-help']
  const plan = 'Would retire work-permit permanently and refer readers to find-legal-help.'
  expect(await run(...retireArgs)).toEqual({
    code: 1,
    out: plan,
    errors: 'Nothing was changed. To retire the guide, add --yes.',
  })
  expect(await run(...retireArgs, '--dry-run')).toEqual({ code: 0, out: plan, errors: '' })
  expect((await run('list')).out).not.toContain('retired')
  expect((await run(...retireArgs, '--yes')).code).toBe(0)
  expect((await run('list')).out).toContain('work-permit  retired; replaced by find-legal-help')
  expect((await run('diff')).out).toBe(`Would publish 0 guides. Unchanged: ${guideCount}.`)
})

// Continues with the database of the test above: work-permit is retired.
test.for([
  [['retire', 'no-such-guide', '--successor', 'find-legal-help'], 'no-such-guide is not published.'],
  [
    ['retire', 'find-legal-help', '--successor', 'no-such-guide'],
    'the successor must be another published guide.',
  ],
  [['retire', 'work-permit', '--successor', 'find-legal-help'], 'work-permit is already retired.'],
  [['review', 'no-such-guide', '--by', 'A. Attorney'], 'no-such-guide is not published.'],
  [['review', 'find-legal-help', '--by', ' '], '--by must be a name'],
  [['review', 'find-legal-help', '--by', 'A. Attorney', '--version', '999'], 'was never published'],
  [['recheck', '/no-such-file.jsonl'], '/no-such-file.jsonl cannot be read.'],
  // The file of this test is not JSON Lines.
  [['recheck', import.meta.filename], 'line 1: '],
] as const)('guides %j is refused with a message', async ([args, message]) => {
  const { code, out, errors } = await run(...args)
  expect([code, out]).toEqual([1, ''])
  expect(errors).toContain(message)
})

test('status prints the count of stale statements, and lists every guide', async () => {
  const { code, out } = await run('status')
  expect(code).toBe(0)
  expect(out).toMatch(/^\d+ of \d+ statements are stale, in \d+ of \d+ guides\.$/m)
  expect(out).toMatch(/^work-permit {2}.*\d/m)
  const { guides, sources } = JSON.parse((await run('status', '--json')).out)
  expect(guides).toHaveLength(guideCount)
  expect(sources[0]).toMatchObject({ checked: expect.any(String), owner: expect.any(String) })
})

test('recheck without --yes only shows the changes, and with --yes it changes nothing for a source without verdicts', async () => {
  const guide = loadGuides()[0]!
  const source = guide.sources[0]!
  const guideFile = new URL(`../../../packages/guides/content/${guide.slug}.md`, import.meta.url)
  const guideTextBefore = readFileSync(guideFile, 'utf8')
  const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-readings-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'readings.jsonl')
  const reading = {
    guide: guide.slug,
    source: source.id,
    url: source.url,
    newest_copy_date: new Date().toISOString().slice(0, 10),
    how_dated: 'opened that day',
    checked_by: 'the live page',
    verdicts: buildVerdicts(guide, source.id),
  }
  writeFileSync(file, JSON.stringify(reading))
  const preview = await run('recheck', file)
  expect(preview.code).toBe(1)
  expect(preview.out).toContain(`- checked: ${source.checked}\n+ checked: ${reading.newest_copy_date}`)
  expect(preview.errors).toContain('Nothing was written')
  expect(readFileSync(guideFile, 'utf8')).toBe(guideTextBefore)
  writeFileSync(file, JSON.stringify({ ...reading, verdicts: [] }))
  // `recheck --yes` would edit the guide files of this clone. This reading has no verdicts, so the command writes nothing.
  const withoutVerdicts = await run('recheck', file, '--yes')
  expect(withoutVerdicts.code).toBe(0)
  expect(withoutVerdicts.out).toContain('skipped: not found in the copy')
  expect(readFileSync(guideFile, 'utf8')).toBe(guideTextBefore)
})

/**
 * Builds a `supported` verdict for each line of a guide that cites the source. A verdict names a sentence by its first
 * characters, as a reader sees them: without list markers and emphasis.
 */
function buildVerdicts({ body }: PackagedGuide, sourceId: string) {
  return body
    .split('\n')
    .filter((line) => line.includes(`[^${sourceId}]`))
    .map((line) => ({
      sentence_starts: line
        .replace(/^(?:-|\d+\.) /, '')
        .replaceAll('*', '')
        .slice(0, 12),
      verdict: 'supported',
    }))
}

test('publishFirstGuides publishes the guides of the release once', async () => {
  await using newDatabase = await openTestDatabase({ folder: MIGRATIONS, name: 'resource' })
  const now = new Date('2026-11-20T12:00:00Z')
  expect(await publishFirstGuides(newDatabase.appUrl, now)).toBe(guideCount)
  expect(await publishFirstGuides(newDatabase.appUrl, now)).toBe(0)
})

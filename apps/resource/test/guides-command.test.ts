import { loadGuides } from '@plainpath/guides'
import { openTestDatabase, type TestDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

const all = loadGuides().length

test('the life of the guides, from the first publication to a retirement', async () => {
  expect(await run('list')).toEqual({ code: 0, out: 'Nothing is published.', errors: '' })
  expect((await run('diff')).out).toContain(`${all} of ${all} guides differ`)
  expect((await run('diff')).out).toMatch(/^work-permit {2}new, version \d+$/m)

  expect(await run('publish')).toMatchObject({
    code: 0,
    out: expect.stringContaining(`${all} of ${all} guides differ`),
  })
  expect((await run('publish')).out).toContain(`0 of ${all} guides differ`)
  expect(JSON.parse((await run('diff', '--json')).out)).toMatchObject({
    guides: expect.arrayContaining([
      expect.objectContaining({ slug: 'work-permit', step: 'same', differs: [] }),
    ]),
  })
  expect((await run('list')).out).toMatch(
    /^work-permit {2}version \d+, updated \d{4}-\d\d-\d\d, not reviewed/m,
  )

  expect((await run('review', 'work-permit', '--by', 'A. Attorney')).out).toMatch(
    /^Version \d+ of work-permit is reviewed as of \d{4}-\d\d-\d\d\.$/,
  )
  expect((await run('list')).out).toMatch(/^work-permit {2}.* reviewed \d{4}-\d\d-\d\d by A\. Attorney/m)

  expect((await run('retire', 'work-permit', '--successor', 'find-legal-help')).code).toBe(0)
  expect((await run('list')).out).toContain('work-permit  retired, read find-legal-help')
  expect((await run('publish')).out).toContain('work-permit  retired')
})

test.for([
  [['retire', 'nothing', '--successor', 'find-legal-help'], 'nothing is not published.'],
  [['retire', 'find-legal-help', '--successor', 'nothing'], 'is not another published guide.'],
  [['retire', 'work-permit', '--successor', 'find-legal-help'], 'work-permit is retired already.'],
  [['review', 'nothing', '--by', 'A. Attorney'], 'nothing is not published.'],
  [['review', 'find-legal-help', '--by', ' '], '--by must be a name'],
] as const)('guides %j is refused in words', async ([args, words]) => {
  const { code, out, errors } = await run(...args)
  expect([code, out]).toEqual([1, ''])
  expect(errors).toContain(words)
})

test('the first start publishes the guides of the release, later ones nothing', async () => {
  await using fresh = await openTestDatabase({ folder: MIGRATIONS, name: 'resource' })
  const now = new Date('2026-11-20T12:00:00Z')
  expect(await publishFirstGuides(fresh.appUrl, now)).toBe(all)
  expect(await publishFirstGuides(fresh.appUrl, now)).toBe(0)
})

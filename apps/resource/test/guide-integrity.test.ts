import { loadGuides } from '@plainpath/guides'
import { openPool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { publishGuides } from '../src/guides/publish-guides.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const packagedGuides = loadGuides()
const [firstGuide] = packagedGuides
if (!firstGuide) throw new Error('there are no guides')

/** Reads the first guide as it is served, with `ORIGIN` in place of the instance's origin. */
const readGuide = async ({ origin }: RunningResource) => {
  const { body } = await sendRequest(origin, { path: `/api/guides/${firstGuide.slug}` })
  return JSON.parse(body.replaceAll(origin, 'ORIGIN'))
}
const findAlterationLines = ({ logLines }: RunningResource) =>
  logLines.filter((line) => line.includes('altered in the store'))
async function readAlteredCount({ operations }: RunningResource): Promise<number> {
  const text = await (await fetch(`${operations.url}/metrics`)).text()
  return Number(/^guide_altered\{.*\} (\d+)$/m.exec(text)?.[1])
}
/** Overwrites members of the published first guide, as only the owner of the tables can. */
const alter = (api: RunningResource, change: object) =>
  api.db.query('update guide_versions set content = content || $1 where slug = $2', [
    JSON.stringify(change),
    firstGuide.slug,
  ])

test('the role of the app cannot alter published versions, but can publish the next one', async () => {
  await using api = await startResource()
  await using appPool = openPool(api.databaseUrl, { max: 1 })
  expect((await publishGuides(appPool, packagedGuides, NOW)).ok).toBe(true)
  // 42501 is `insufficient_privilege`.
  for (const statement of [
    `update guide_versions set content = content || '{"title": "Altered"}'`,
    'delete from guide_versions',
    'truncate guide_versions cascade',
    'delete from guide_reviews',
    'alter table guide_versions add column more text',
  ])
    await expect(appPool.query(statement)).rejects.toMatchObject({ code: '42501' })
  const next = [{ ...firstGuide, version: firstGuide.version + 1 }, ...packagedGuides.slice(1)]
  expect((await publishGuides(appPool, next, NOW)).ok).toBe(true)
})

test.for([
  ['the title', { title: 'Pay this person first' }],
  ['the text', { body: 'Send your passport to this address.[^x]' }],
  [
    'the sources',
    { sources: firstGuide.sources.map((source) => ({ ...source, url: 'https://evil.example/' })) },
  ],
  ['the disclaimer', { disclaimer: 'This is the government.' }],
  ['the slug', { slug: 'another-guide' }],
  ['the review', { reviewed: '2026-11-19', reviewedBy: 'Nobody' }],
] as const)(
  'a guide that was altered in the store is served as in the release, and is counted and logged: %s',
  async ([_part, change]) => {
    await using earlierInstance = await startResource()
    await publishGuides(earlierInstance.db, packagedGuides, NOW)
    await expect.poll(() => readGuide(earlierInstance)).toMatchObject({ title: firstGuide.title })
    const published = await readGuide(earlierInstance)
    await alter(earlierInstance, change)
    await using laterInstance = await startResource({ otherInstance: earlierInstance })
    expect(await readGuide(laterInstance)).toEqual(published)
    expect(await readAlteredCount(laterInstance)).toBe(1)
    expect(findAlterationLines(laterInstance)).toHaveLength(1)
    expect(findAlterationLines(laterInstance)[0]).toContain(`"slug":"${firstGuide.slug}"`)
  },
)

test('a guide whose alteration was undone is neither counted nor logged', async () => {
  await using api = await startResource()
  await publishGuides(api.db, packagedGuides, NOW)
  await alter(api, { title: 'Altered' })
  await alter(api, { title: firstGuide.title })
  await using laterInstance = await startResource({ otherInstance: api })
  expect([await readAlteredCount(laterInstance), findAlterationLines(laterInstance)]).toEqual([0, []])
})

test('a version that this release does not have is served as it is stored', async () => {
  await using api = await startResource()
  await publishGuides(api.db, packagedGuides, NOW)
  await publishGuides(
    api.db,
    [{ ...firstGuide, version: firstGuide.version + 1, title: 'Of the next release' }],
    NOW,
  )
  await expect.poll(() => readGuide(api)).toMatchObject({ title: 'Of the next release' })
  expect([await readAlteredCount(api), findAlterationLines(api)]).toEqual([0, []])
})

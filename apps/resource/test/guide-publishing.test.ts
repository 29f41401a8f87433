import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { openPool } from '@plainpath/postgres'
import { describe, expect, test } from 'vitest'
import { publishGuides, retireGuide, reviewGuide } from '../src/guides/publish-guides.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const packagedGuides = loadGuides()
const [firstGuide, secondGuide] = packagedGuides
if (!firstGuide || !secondGuide) throw new Error('there are too few guides')
/** Returns all guides, with a change to the first. */
const changeFirst = (change: Partial<PackagedGuide>): PackagedGuide[] => [
  { ...firstGuide, ...change },
  ...packagedGuides.slice(1),
]

const get = (api: { origin: string }, path: string, headers = {}) =>
  sendRequest(api.origin, { path, headers })
const readFirst = async (api: { origin: string }, query = '') =>
  (await get(api, `/api/guides/${firstGuide.slug}${query}`)).json()

/** Retries an assertion for up to 20 s. A change reaches a process within a second, but later on a busy machine. */
const retryUntilPasses = async (assertion: () => Promise<void>) => {
  const deadline = performance.now() + 20_000
  for (;;) {
    try {
      return await assertion()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

async function publish(api: RunningResource, guides: readonly PackagedGuide[], now = NOW): Promise<void> {
  const result = await publishGuides(api.db, guides, now)
  if (!result.ok) throw new Error('nothing was published')
}

describe('publishing', () => {
  test('reaches both instances, and earlier versions stay available', async () => {
    await using firstInstance = await startResource()
    await using secondInstance = await startResource({ otherInstance: firstInstance })
    await publish(firstInstance, packagedGuides)
    await publish(firstInstance, changeFirst({ title: 'Another title', version: firstGuide.version + 1 }))
    for (const api of [firstInstance, secondInstance]) {
      await retryUntilPasses(async () =>
        expect(await readFirst(api)).toMatchObject({
          title: 'Another title',
          version: firstGuide.version + 1,
        }),
      )
      const list = (await get(api, '/api/guides')).json()['guides'] as { title: string }[]
      expect(list).toHaveLength(packagedGuides.length)
      expect(list[0]?.title).toBe('Another title')
      expect((await get(api, `/guides/${firstGuide.slug}`)).body).toContain('<h1>Another title</h1>')
      expect(await readFirst(api, `?version=${firstGuide.version}`)).toMatchObject({
        title: firstGuide.title,
        version: firstGuide.version,
      })
      expect(await readFirst(api, `?version=${firstGuide.version + 1}`)).toMatchObject({
        title: 'Another title',
      })
    }
  })

  test('never mixes the guides of two publications in one response', async () => {
    await using api = await startResource()
    const retitleAll = (version: number) =>
      packagedGuides.map((guide) => ({ ...guide, version, title: `Title ${version}` }))
    await publish(api, retitleAll(10))
    await retryUntilPasses(async () => expect(await readFirst(api)).toMatchObject({ title: 'Title 10' }))
    let version = 10
    const publications = (async () => {
      while (version < 15) await publish(api, retitleAll((version += 1)))
    })()
    const servedTitles = new Set<string>()
    // Reads while the versions 11 to 15 are published.
    while (version < 15 || servedTitles.size === 0) {
      const list = (await get(api, '/api/guides')).json()['guides'] as { title: string }[]
      const titles = new Set(list.map(({ title }) => title))
      expect([list.length, titles.size]).toEqual([packagedGuides.length, 1])
      for (const title of titles) servedTitles.add(title)
    }
    await publications
  })

  test('changes nothing if a guide was changed and its version was not raised', async () => {
    await using api = await startResource()
    await publish(api, packagedGuides.slice(0, 1))
    const refusal = await publishGuides(api.db, changeFirst({ title: 'Sly' }), NOW)
    expect(refusal).toMatchObject({
      ok: false,
      error: [{ slug: firstGuide.slug, step: 'version-not-raised', differs: ['title'] }],
    })
    const { rows } = await api.db.query('select slug from guide_versions')
    expect(rows).toEqual([{ slug: firstGuide.slug }])
  })

  test('changes nothing if the stored versions are the same or newer', async () => {
    await using api = await startResource()
    await publish(api, changeFirst({ title: 'Newer', version: firstGuide.version + 1 }))
    const repeatedPublication = await publishGuides(api.db, packagedGuides, NOW)
    const steps = new Set(repeatedPublication.ok ? repeatedPublication.value.map(({ step }) => step) : [])
    expect(steps).toEqual(new Set(['older', 'same']))
    const { rows } = await api.db.query('select slug from guide_versions')
    expect(rows).toHaveLength(packagedGuides.length)
  })
})

test('the role of the app cannot change or delete published versions, or delete reviews', async () => {
  await using api = await startResource()
  await publish(api, packagedGuides.slice(0, 1))
  await using appPool = openPool(api.databaseUrl, { max: 1 })
  for (const statement of [
    "update guide_versions set content = '{}'",
    'delete from guide_versions',
    'delete from guide_reviews',
  ])
    await expect(appPool.query(statement)).rejects.toThrow('permission denied')
})

describe('?version=', () => {
  test('returns an earlier version as it was served then, in every format', async () => {
    await using api = await startResource()
    await publish(api, packagedGuides)
    const formats = [
      ['', { accept: 'application/json' }],
      ['', { accept: 'text/markdown' }],
      ['.md', {}],
    ] as const
    const getPath = (extension: string, query = '') => `/api/guides/${firstGuide.slug}${extension}${query}`
    const earlierBodies = await Promise.all(
      formats.map(async ([extension, headers]) => (await get(api, getPath(extension), headers)).body),
    )
    const version = firstGuide.version + 1
    const body = firstGuide.body.replace('[^', 'Corrected. [^')
    const history = [{ date: '2026-11-20', version, text: 'Corrected: all of it.' }, ...firstGuide.history]
    await publish(api, changeFirst({ version, title: 'Another', summary: 'Other.', body, history }))
    await retryUntilPasses(async () => expect(await readFirst(api)).toMatchObject({ version, history }))
    for (const [index, [extension, headers]] of formats.entries()) {
      expect((await get(api, getPath(extension), headers)).body).not.toBe(earlierBodies[index])
      const earlierResponse = await get(api, getPath(extension, `?version=${firstGuide.version}`), headers)
      expect([earlierResponse.status, earlierResponse.body]).toEqual([200, earlierBodies[index]])
    }
  })

  test('is 404 for an unknown version, and 400 for an invalid one', async () => {
    await using api = await startResource()
    const { slug, version } = firstGuide
    for (const extension of ['', '.md'])
      expectProblem(await get(api, `/api/guides/${slug}${extension}?version=${version + 7}`), {
        status: 404,
        code: 'not-found',
      })
    // PostgreSQL stores a version as a 32-bit integer, so the API refuses one of twelve digits.
    for (const invalidVersion of ['0', '-1', 'x', '1.5', '', '9'.repeat(12)])
      expectProblem(await get(api, `/api/guides/${slug}?version=${invalidVersion}`), {
        status: 400,
        code: 'invalid-request',
      })
  })
})

describe('a retired guide', () => {
  test('is 410 with its successor in the API and on its page, is not listed, and cannot be published again', async () => {
    await using api = await startResource()
    await publish(api, packagedGuides)
    const retirement = await retireGuide(api.db, { slug: firstGuide.slug, successor: secondGuide.slug }, NOW)
    expect(retirement.ok).toBe(true)
    const successor = { slug: secondGuide.slug, url: `${api.origin}/guides/${secondGuide.slug}` }
    await retryUntilPasses(async () =>
      expect((await get(api, `/api/guides/${firstGuide.slug}`)).status).toBe(410),
    )
    for (const path of [
      `/api/guides/${firstGuide.slug}`,
      `/api/guides/${firstGuide.slug}.md`,
      `/api/guides/${firstGuide.slug}?version=1`,
    ]) {
      const response = await get(api, path)
      expectProblem(response, { status: 410, code: 'guide-retired' })
      expect(response.json()).toMatchObject({
        successor,
        detail: expect.stringContaining(`/api/guides/${secondGuide.slug}`),
      })
    }
    const page = await get(api, `/guides/${firstGuide.slug}`, { accept: 'text/html' })
    expect(page.status).toBe(410)
    expect(page.body).toContain(`<a href="${successor.url}">`)
    const list = (await get(api, '/api/guides')).body
    expect(list).not.toContain(`"${firstGuide.slug}"`)
    const republishedGuides = changeFirst({ version: firstGuide.version + 1, title: 'Back' })
    const result = await publishGuides(api.db, republishedGuides, NOW)
    expect(result.ok && result.value.find(({ slug }) => slug === firstGuide.slug)?.step).toBe('retired')
  })

  test('names the last successor if its successor was retired too', async () => {
    await using api = await startResource()
    const thirdSlug = packagedGuides[2]?.slug ?? ''
    await publish(api, packagedGuides)
    await retireGuide(api.db, { slug: firstGuide.slug, successor: secondGuide.slug }, NOW)
    await retireGuide(api.db, { slug: secondGuide.slug, successor: thirdSlug }, NOW)
    await retryUntilPasses(async () =>
      expect((await readFirst(api))['successor']).toMatchObject({ slug: thirdSlug }),
    )
  })
})

describe('a retirement is refused for', () => {
  test.for([
    ['an unknown guide', 'nothing', secondGuide.slug, 'not-published'],
    ['an unknown successor', firstGuide.slug, 'nothing', 'successor-not-published'],
    [
      'a guide that names itself as its successor',
      firstGuide.slug,
      firstGuide.slug,
      'successor-not-published',
    ],
  ] as const)('%s', async ([, slug, successor, error]) => {
    await using api = await startResource()
    await publish(api, packagedGuides.slice(0, 2))
    expect(await retireGuide(api.db, { slug, successor }, NOW)).toEqual({ ok: false, error })
  })
})

describe('a review', () => {
  test('applies to the reviewed version, and not to the next one', async () => {
    await using api = await startResource()
    await publish(api, packagedGuides)
    expect(await readFirst(api)).toMatchObject({ reviewed: null })
    const review = { slug: firstGuide.slug, by: 'A. Attorney' }
    expect(await reviewGuide(api.db, review, NOW)).toEqual({
      ok: true,
      value: { version: firstGuide.version, day: '2026-11-20' },
    })
    await retryUntilPasses(async () => expect(await readFirst(api)).toMatchObject({ reviewed: '2026-11-20' }))
    const page = (await get(api, `/guides/${firstGuide.slug}`)).body
    expect(page).toContain('<meta itemprop="lastReviewed" content="2026-11-20">')
    expect(page).not.toContain('Not yet reviewed by an attorney')
    await publish(api, changeFirst({ version: firstGuide.version + 1, title: 'Changed' }))
    await retryUntilPasses(async () =>
      expect(await readFirst(api)).toMatchObject({ title: 'Changed', reviewed: null }),
    )
    expect(await readFirst(api, `?version=${firstGuide.version}`)).toMatchObject({ reviewed: '2026-11-20' })
  })

  test('can be of an earlier version, and then does not apply to the served one', async () => {
    await using api = await startResource()
    await publish(api, packagedGuides)
    await publish(api, changeFirst({ version: firstGuide.version + 1, title: 'Changed' }))
    const review = { slug: firstGuide.slug, by: 'A. Attorney', version: firstGuide.version }
    expect(await reviewGuide(api.db, review, NOW)).toMatchObject({ value: { version: firstGuide.version } })
    await retryUntilPasses(async () =>
      expect(await readFirst(api)).toMatchObject({ title: 'Changed', reviewed: null }),
    )
    expect(await readFirst(api, `?version=${firstGuide.version}`)).toMatchObject({ reviewed: '2026-11-20' })
    expect(await reviewGuide(api.db, { ...review, version: 999 }, NOW)).toMatchObject({
      error: 'no-such-version',
    })
  })

  test('cannot be older than the text, or of a guide that is not published', async () => {
    await using api = await startResource()
    await publish(api, packagedGuides.slice(0, 1))
    // Earlier than the date of the guide.
    const timeBeforeText = new Date('2020-01-01T00:00:00Z')
    expect(await reviewGuide(api.db, { slug: firstGuide.slug, by: 'A' }, timeBeforeText)).toMatchObject({
      error: 'version-dated-in-future',
    })
    expect(await reviewGuide(api.db, { slug: 'nothing', by: 'A' }, NOW)).toMatchObject({
      error: 'not-published',
    })
  })
})

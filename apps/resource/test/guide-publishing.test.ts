import { loadGuides, type PackagedGuide } from '@plainpath/guides'
import { openPool } from '@plainpath/postgres'
import { describe, expect, test } from 'vitest'
import { publishGuides, retireGuide, reviewGuide } from '../src/guides/publish-guides.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const packaged = loadGuides()
const [first, second] = packaged
if (!first || !second) throw new Error('there are too few guides')
const changed = (change: Partial<PackagedGuide>): PackagedGuide[] => [
  { ...first, ...change },
  ...packaged.slice(1),
]

const get = (api: { origin: string }, path: string, headers = {}) =>
  sendRequest(api.origin, { path, headers })
const guide = async (api: { origin: string }, query = '') =>
  (await get(api, `/api/guides/${first.slug}${query}`)).json()

/** Retries an assertion until a change has reached the process: within a second on a quiet machine, later on a busy one. */
const eventually = async (assertion: () => Promise<void>) => {
  const until = performance.now() + 20_000
  for (;;) {
    try {
      return await assertion()
    } catch (error) {
      if (performance.now() > until) throw error
    }
  }
}

async function publish(api: RunningResource, guides: readonly PackagedGuide[], now = NOW): Promise<void> {
  const published = await publishGuides(api.db, guides, now)
  if (!published.ok) throw new Error('nothing was published')
}

describe('publishing', () => {
  test('is one transaction, reaches every process within a second, and keeps earlier versions', async () => {
    await using one = await startResource()
    await using two = await startResource({ beside: one })
    await publish(one, packaged)
    await publish(one, changed({ title: 'Another title', version: first.version + 1 }))
    for (const api of [one, two]) {
      await eventually(async () =>
        expect(await guide(api)).toMatchObject({ title: 'Another title', version: first.version + 1 }),
      )
      const list = (await get(api, '/api/guides')).json()['guides'] as { title: string }[]
      expect(list).toHaveLength(packaged.length)
      expect(list[0]?.title).toBe('Another title')
      expect((await get(api, `/guides/${first.slug}`)).body).toContain('<h1>Another title</h1>')
      expect(await guide(api, `?version=${first.version}`)).toMatchObject({
        title: first.title,
        version: first.version,
      })
      expect(await guide(api, `?version=${first.version + 1}`)).toMatchObject({ title: 'Another title' })
    }
  })

  test('shows each request the guides of one publication only', async () => {
    await using api = await startResource()
    const retitled = (version: number) =>
      packaged.map((each) => ({ ...each, version, title: `Title ${version}` }))
    await publish(api, retitled(10))
    await eventually(async () => expect(await guide(api)).toMatchObject({ title: 'Title 10' }))
    let version = 10
    const publications = (async () => {
      while (version < 15) await publish(api, retitled((version += 1)))
    })()
    const servedTitles = new Set<string>()
    while (version < 15 || servedTitles.size === 0) {
      const list = (await get(api, '/api/guides')).json()['guides'] as { title: string }[]
      const titles = new Set(list.map(({ title }) => title))
      expect([list.length, titles.size]).toEqual([packaged.length, 1])
      for (const title of titles) servedTitles.add(title)
    }
    await publications
  })

  test('changes nothing when a text was changed and its version was not raised', async () => {
    await using api = await startResource()
    await publish(api, packaged.slice(0, 1))
    const refused = await publishGuides(api.db, changed({ title: 'Sly' }), NOW)
    expect(refused).toMatchObject({
      ok: false,
      error: [{ slug: first.slug, step: 'version-not-raised', differs: ['title'] }],
    })
    const { rows } = await api.db.query('select slug from guide_versions')
    expect(rows).toEqual([{ slug: first.slug }])
  })

  test('changes nothing when repeated, or from an older release', async () => {
    await using api = await startResource()
    await publish(api, changed({ title: 'Newer', version: first.version + 1 }))
    const again = await publishGuides(api.db, packaged, NOW)
    const steps = new Set(again.ok ? again.value.map(({ step }) => step) : [])
    expect(steps).toEqual(new Set(['older', 'same']))
    const { rows } = await api.db.query('select slug from guide_versions')
    expect(rows).toHaveLength(packaged.length)
  })
})

test('the store refuses to change or delete published versions and reviews', async () => {
  await using api = await startResource()
  await publish(api, packaged.slice(0, 1))
  await using app = openPool(api.databaseUrl, { max: 1 })
  for (const statement of [
    "update guide_versions set content = '{}'",
    'delete from guide_versions',
    'delete from guide_reviews',
  ])
    await expect(app.query(statement)).rejects.toThrow('permission denied')
})

describe('?version=', () => {
  test('returns the text as it was served then, in every format', async () => {
    await using api = await startResource()
    await publish(api, packaged)
    const forms = [
      ['', { accept: 'application/json' }],
      ['', { accept: 'text/markdown' }],
      ['.md', {}],
    ] as const
    const path = (form: string, query = '') => `/api/guides/${first.slug}${form}${query}`
    const former = await Promise.all(
      forms.map(async ([form, headers]) => (await get(api, path(form), headers)).body),
    )
    const version = first.version + 1
    const body = first.body.replace('[^', 'Corrected. [^')
    const history = [{ date: '2026-11-20', version, text: 'Corrected: all of it.' }, ...first.history]
    await publish(api, changed({ version, title: 'Another', summary: 'Other.', body, history }))
    await eventually(async () => expect(await guide(api)).toMatchObject({ version, history }))
    for (const [at, [form, headers]] of forms.entries()) {
      expect((await get(api, path(form), headers)).body).not.toBe(former[at])
      const earlier = await get(api, path(form, `?version=${first.version}`), headers)
      expect([earlier.status, earlier.body]).toEqual([200, former[at]])
    }
  })

  test('is 404 for an unknown version, and 400 for an invalid one', async () => {
    await using api = await startResource()
    const { slug, version } = first
    for (const form of ['', '.md'])
      expectProblem(await get(api, `/api/guides/${slug}${form}?version=${version + 7}`), {
        status: 404,
        code: 'not-found',
      })
    for (const bad of ['0', '-1', 'x', '1.5', '', '9'.repeat(12)])
      expectProblem(await get(api, `/api/guides/${slug}?version=${bad}`), {
        status: 400,
        code: 'invalid-request',
      })
  })
})

describe('a retired guide', () => {
  test('is 410 with its successor, for agents and for people, and in no list', async () => {
    await using api = await startResource()
    await publish(api, packaged)
    const retired = await retireGuide(api.db, { slug: first.slug, successor: second.slug }, NOW)
    expect(retired.ok).toBe(true)
    const successor = { slug: second.slug, url: `${api.origin}/guides/${second.slug}` }
    await eventually(async () => expect((await get(api, `/api/guides/${first.slug}`)).status).toBe(410))
    for (const path of [
      `/api/guides/${first.slug}`,
      `/api/guides/${first.slug}.md`,
      `/api/guides/${first.slug}?version=1`,
    ]) {
      const response = await get(api, path)
      expectProblem(response, { status: 410, code: 'guide-retired' })
      expect(response.json()).toMatchObject({
        successor,
        detail: expect.stringContaining(`/api/guides/${second.slug}`),
      })
    }
    const page = await get(api, `/guides/${first.slug}`, { accept: 'text/html' })
    expect(page.status).toBe(410)
    expect(page.body).toContain(`<a href="${successor.url}">`)
    const list = (await get(api, '/api/guides')).body
    expect(list).not.toContain(`"${first.slug}"`)
    const again = await publishGuides(api.db, changed({ version: first.version + 1, title: 'Back' }), NOW)
    expect(again.ok && again.value.find(({ slug }) => slug === first.slug)?.step).toBe('retired')
  })

  test('names the last of its successors', async () => {
    await using api = await startResource()
    const third = packaged[2]?.slug ?? ''
    await publish(api, packaged)
    await retireGuide(api.db, { slug: first.slug, successor: second.slug }, NOW)
    await retireGuide(api.db, { slug: second.slug, successor: third }, NOW)
    await eventually(async () => expect((await guide(api))['successor']).toMatchObject({ slug: third }))
  })

  test.for([
    ['an unknown guide', 'nothing', second.slug, 'not-published'],
    ['an unknown successor', first.slug, 'nothing', 'successor-not-published'],
    ['itself as successor', first.slug, first.slug, 'successor-not-published'],
  ] as const)('cannot be retired: %s', async ([, slug, successor, error]) => {
    await using api = await startResource()
    await publish(api, packaged.slice(0, 2))
    expect(await retireGuide(api.db, { slug, successor }, NOW)).toEqual({ ok: false, error })
  })
})

describe('a review', () => {
  test('is for the version that was read: the next one has none', async () => {
    await using api = await startResource()
    await publish(api, packaged)
    expect(await guide(api)).toMatchObject({ reviewed: null })
    const review = { slug: first.slug, by: 'A. Attorney' }
    expect(await reviewGuide(api.db, review, NOW)).toEqual({
      ok: true,
      value: { version: first.version, day: '2026-11-20' },
    })
    await eventually(async () => expect(await guide(api)).toMatchObject({ reviewed: '2026-11-20' }))
    const page = (await get(api, `/guides/${first.slug}`)).body
    expect(page).toContain('<meta itemprop="lastReviewed" content="2026-11-20">')
    expect(page).not.toContain('Not yet reviewed by an attorney')
    await publish(api, changed({ version: first.version + 1, title: 'Changed' }))
    await eventually(async () => expect(await guide(api)).toMatchObject({ title: 'Changed', reviewed: null }))
    expect(await guide(api, `?version=${first.version}`)).toMatchObject({ reviewed: '2026-11-20' })
  })

  test('can be for an earlier version, and does not apply to the served one', async () => {
    await using api = await startResource()
    await publish(api, packaged)
    await publish(api, changed({ version: first.version + 1, title: 'Changed' }))
    const review = { slug: first.slug, by: 'A. Attorney', version: first.version }
    expect(await reviewGuide(api.db, review, NOW)).toMatchObject({ value: { version: first.version } })
    await eventually(async () => expect(await guide(api)).toMatchObject({ title: 'Changed', reviewed: null }))
    expect(await guide(api, `?version=${first.version}`)).toMatchObject({ reviewed: '2026-11-20' })
    expect(await reviewGuide(api.db, { ...review, version: 999 }, NOW)).toMatchObject({
      error: 'no-such-version',
    })
  })

  test('cannot be older than the text, nor for a guide that is not published', async () => {
    await using api = await startResource()
    await publish(api, packaged.slice(0, 1))
    const before = new Date('2020-01-01T00:00:00Z')
    expect(await reviewGuide(api.db, { slug: first.slug, by: 'A' }, before)).toMatchObject({
      error: 'before-the-text',
    })
    expect(await reviewGuide(api.db, { slug: 'nothing', by: 'A' }, NOW)).toMatchObject({
      error: 'not-published',
    })
  })
})

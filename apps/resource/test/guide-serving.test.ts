import { loadGuides } from '@plainpath/guides'
import { describe, expect, test } from 'vitest'
import { publishGuides } from '../src/guides/publish-guides.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
/** Nothing listens on port 1. */
const UNREACHABLE_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
const packagedGuides = loadGuides()

describe('a guide', () => {
  test('has the same Markdown and JSON at its API address and at its page, by extension or Accept', async () => {
    await using api = await startResource()
    const get = (path: string, accept = '*/*') => sendRequest(api.origin, { path, headers: { accept } })
    const markdown = await get('/api/guides/work-permit', 'text/markdown')
    for (const response of [
      await get('/api/guides/work-permit.md'),
      await get('/guides/work-permit.md', 'text/html'),
      await get('/guides/work-permit', 'text/markdown'),
    ]) {
      expect([response.status, response.headers['content-type']]).toEqual([
        200,
        'text/markdown; charset=utf-8',
      ])
      expect([response.body, response.headers['etag']]).toEqual([markdown.body, markdown.headers['etag']])
    }
    const json = await get('/guides/work-permit', 'application/json')
    expect(json.body).toBe((await get('/api/guides/work-permit')).body)
    expect((await get('/guides/work-permit')).headers['content-type']).toBe('text/html; charset=utf-8')
    for (const path of [
      '/guides/nothing.md',
      '/api/guides/nothing.md',
      '/api/guides/.md',
      '/guides/work-permit.md.md',
    ])
      expect([400, 404]).toContain((await get(path)).status)
  })
})

test.for([
  '/api/guides',
  '/api/guides/work-permit',
  '/guides/work-permit',
  '/guides/work-permit.md',
  '/',
  '/guides.atom',
])(
  'the response is compressed for clients that accept it, and then has a different ETag: %s',
  async (path) => {
    await using api = await startResource()
    const plain = await sendRequest(api.origin, { path })
    const compressedResponse = await fetch(api.origin + path, { headers: { 'accept-encoding': 'br' } })
    expect(compressedResponse.headers.get('content-encoding')).toBe('br')
    expect(await compressedResponse.text()).toBe(plain.body)
    expect(compressedResponse.headers.get('etag')).not.toBe(plain.headers['etag'])
    expect(Number(compressedResponse.headers.get('content-length'))).toBeLessThan(
      Buffer.byteLength(plain.body),
    )
  },
)

describe('while no guide can be read from PostgreSQL, the API', () => {
  test('serves the published versions from memory', async () => {
    await using api = await startResource()
    await publishGuides(
      api.db,
      packagedGuides.map((guide) => ({ ...guide, version: 7 })),
      NOW,
    )
    const readVersion = async () =>
      (await sendRequest(api.origin, { path: '/api/guides/work-permit' })).json()['version']
    await expect.poll(readVersion, { interval: 20 }).toBe(7)
    // The notification makes the API read the guides again, which now fails.
    await api.db.query('alter table guide_versions rename to gone')
    await api.db.query('alter table guides rename to gone_too')
    await api.db.query("select pg_notify('plainpath_guides', '')")
    for (const path of [
      '/api/guides',
      '/api/guides/work-permit',
      '/guides/work-permit',
      '/search?q=visa',
      '/guides.atom',
    ])
      expect([path, (await sendRequest(api.origin, { path })).status]).toEqual([path, 200])
    expect(await readVersion()).toBe(7)
  })

  test('serves the guides of the release from the start, and 503 for another version', async () => {
    await using api = await startResource({ env: { RESOURCE_DATABASE_URL: UNREACHABLE_DATABASE } })
    for (const path of [
      '/',
      '/api/guides',
      '/api/guides?q=visa',
      '/api/guides/work-permit',
      '/guides/work-permit',
      '/guides.atom',
    ])
      expect([path, (await sendRequest(api.origin, { path })).status]).toEqual([path, 200])
    expectProblem(await sendRequest(api.origin, { path: '/api/guides/work-permit?version=99' }), {
      status: 503,
      code: 'unavailable',
    })
  })
})

describe('the feed of changes', () => {
  test('has an entry for each published version, newest first', async () => {
    await using api = await startResource()
    const [guide] = packagedGuides
    if (!guide) throw new Error('there are no guides')
    await publishGuides(api.db, packagedGuides, NOW)
    const laterTime = new Date('2026-12-01T08:00:00Z')
    const version = guide.version + 1
    await publishGuides(api.db, [{ ...guide, version, title: 'Fees & <forms>' }], laterTime)
    const readFeed = async () => (await sendRequest(api.origin, { path: '/guides.atom' })).body
    await expect.poll(readFeed, { interval: 20 }).toContain('Fees &amp; &lt;forms&gt;')
    const body = await readFeed()
    expect(body.match(/<entry>/g)).toHaveLength(packagedGuides.length + 1)
    expect(body).toContain(`<id>${api.origin}/guides.atom</id>`)
    expect(body).toContain('<updated>2026-12-01T08:00:00.000Z</updated>')
    const ids = [...body.matchAll(/<entry>\n<id>([^<]*)<\/id>/g)].map(([, id]) => id)
    expect(ids[0]).toBe(`${api.origin}/guides/${guide.slug}#version-${version}`)
    expect(new Set(ids).size).toBe(ids.length)
    const { headers } = await sendRequest(api.origin, { path: '/guides.atom' })
    expect(headers['content-type']).toBe('application/atom+xml; charset=utf-8')
  })
})

test('guide_stale counts the guides with stale statements, and a stale guide says so in each format', async () => {
  const earliestCheck =
    packagedGuides.flatMap(({ sources }) => sources.map(({ checked }) => checked)).toSorted()[0] ?? ''
  const [{ slug } = { slug: '' }] = packagedGuides
  let today = new Date(earliestCheck)
  await using api = await startResource({ now: () => today })
  const readStaleCount = async () => {
    const text = await (await fetch(`${api.operations.url}/metrics`)).text()
    return Number(/^guide_stale\{.*\} (\d+)$/m.exec(text)?.[1])
  }
  expect(await readStaleCount()).toBe(0)
  // Later than the age limits of all sources.
  today = new Date('2036-01-01T00:00:00Z')
  expect(await readStaleCount()).toBe(packagedGuides.length)
  const status = await (await fetch(`${api.operations.url}/guides`)).text()
  expect(status).toContain(`in ${packagedGuides.length} of ${packagedGuides.length} guides.`)
  const guide = (await sendRequest(api.origin, { path: `/api/guides/${slug}` })).json()
  expect(guide).toMatchObject({ stale: true, staleStatements: guide['statements'] })
  for (const path of [`/guides/${slug}`, `/guides/${slug}.md`]) {
    const { body } = await sendRequest(api.origin, { path })
    expect(body).toContain(
      `${guide['statements']} of ${guide['statements']} statements below may be out of date`,
    )
    expect(body).toMatch(/We last read this rule as of \w+ \d+, 20\d\d\./)
    expect(body).toContain('We have not checked the links and phone numbers here')
  }
})

test('a guide that release 0.1.0 published is served, with the kinds of its sources derived from their hosts', async () => {
  await using api = await startResource()
  const [guide] = packagedGuides
  if (!guide) throw new Error('there are no guides')
  // In release 0.1.0, guides had no history, sources had no kind, and one age limit applied to all sources of a guide.
  const content = {
    ...guide,
    version: guide.version + 1,
    history: undefined,
    maxAgeDays: 365,
    sources: guide.sources.map((source) => ({ ...source, kind: undefined })),
  }
  await api.db.query(
    'insert into guide_versions (slug, version, content, published_at) values ($1, $2, $3, $4)',
    [guide.slug, content.version, JSON.stringify(content), NOW],
  )
  await api.db.query('insert into guides (slug, version) values ($1, $2)', [guide.slug, content.version])
  await api.db.query("select pg_notify('plainpath_guides', '')")
  const readGuide = async () => (await sendRequest(api.origin, { path: `/api/guides/${guide.slug}` })).json()
  await expect.poll(readGuide, { interval: 20 }).toMatchObject({ version: content.version, history: [] })
  const { sources } = (await readGuide()) as { sources: { url: string; kind: string; limitDays: number }[] }
  for (const { url, kind, limitDays } of sources) {
    if (url.startsWith('https://uscode.house.gov/')) expect([kind, limitDays]).toEqual(['statute', 400])
    else if (url.startsWith('https://www.ecfr.gov/')) expect([kind, limitDays]).toEqual(['regulation', 400])
    else expect([kind, limitDays]).toEqual(['agency-page', 200])
  }
})

test('a guide has its history in JSON, in Markdown and on its page', async () => {
  await using api = await startResource()
  const [guide] = packagedGuides
  if (!guide) throw new Error('there are no guides')
  const version = guide.version + 1
  const text = 'Corrected: the court counts five days.'
  const history = [{ date: '2026-11-23', version, text }]
  await publishGuides(api.db, [{ ...guide, version, history }], NOW)
  const getGuideUnder = (path: string) => sendRequest(api.origin, { path: `${path}/${guide.slug}` })
  const readHistory = async () => (await getGuideUnder('/api/guides')).json()['history']
  await expect.poll(readHistory, { interval: 20 }).toEqual(history)
  const markdown = await sendRequest(api.origin, { path: `/guides/${guide.slug}.md` })
  expect(markdown.body).toContain(
    `## Changes to this guide\n\n- 2026-11-23, version ${version}. ${text}\n\n## Sources`,
  )
  expect((await getGuideUnder('/guides')).body).toContain(
    `November 23, 2026</time>, version ${version}. ${text}</li>`,
  )
})

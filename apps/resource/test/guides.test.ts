import { loadGuides } from '@plainpath/guides'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource({ now: () => new Date('2026-11-20T12:00:00Z') })
})
afterAll(() => api[Symbol.asyncDispose]())

const slugs = loadGuides()
  .filter(({ status }) => status === 'published')
  .map(({ slug }) => slug)
const get = (path: string, headers: Record<string, string> = {}) => sendRequest(api.origin, { path, headers })
interface GuideList {
  guides: { slug: string; url: string }[]
  next: string | null
}
const readList = async (query = '') => (await get(`/api/guides${query}`)).json() as unknown as GuideList

describe('GET /api/guides', () => {
  test('lists every published guide by slug, with the URLs of its page and its JSON', async () => {
    const { guides, next } = await readList()
    expect(guides.map(({ slug }) => slug)).toEqual(slugs)
    expect(next).toBeNull()
    expect(guides[0]).toEqual({
      slug: slugs[0],
      title: expect.any(String),
      summary: expect.any(String),
      updated: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      reviewed: null,
      url: `${api.origin}/guides/${slugs[0]}`,
      apiUrl: `${api.origin}/api/guides/${slugs[0]}`,
    })
  })

  test('returns the whole list in pages of at most two, each guide once', async () => {
    const listedSlugs: string[] = []
    let query = '?limit=2'
    for (;;) {
      const { guides, next } = await readList(query)
      expect(guides.length).toBeLessThanOrEqual(2)
      listedSlugs.push(...guides.map(({ slug }) => slug))
      if (next === null) break
      query = `?limit=2&cursor=${next}`
    }
    expect(listedSlugs).toEqual(slugs)
  })

  test('has no further page if the last page is full', async () => {
    expect((await readList(`?limit=${slugs.length}`)).next).toBeNull()
  })

  test('ignores unknown query parameters', async () => {
    expect(await readList('?fields=email,*&sort=id&version=1&')).toEqual(await readList())
  })

  test.for([
    ...['0', '101', '-1', '1.5', '1e1', '', 'x', '0x1', ' 1', '1000', '9'.repeat(400)].map(
      (limit) => `limit=${encodeURIComponent(limit)}`,
    ),
    'limit=1&limit=2',
    'cursor=a&cursor=b',
  ])('refuses ?%s and names the parameter', async (query) => {
    const response = await get(`/api/guides?${query}`)
    expectProblem(response, { status: 400, code: 'invalid-request' })
    const name = `?${query.split('=')[0]}`
    expect(response.json()['errors']).toEqual([expect.objectContaining({ pointer: name })])
  })

  test('refuses a forged cursor, and one of another instance with other keys', async () => {
    const { next } = await readList('?limit=1')
    const cursor = next ?? ''
    // A cursor contains a MAC of 16 bytes and the last listed slug, in base64url.
    const bytes = Buffer.from(cursor, 'base64url')
    const withFlippedBit = Buffer.from(bytes.map((byte, index) => (index === 0 ? byte ^ 1 : byte))).toString(
      'base64url',
    )
    const withOtherSlug = Buffer.concat([bytes.subarray(0, 16), Buffer.from('z')]).toString('base64url')
    const encodedSlug = Buffer.from(slugs[0] ?? '').toString('base64url')
    for (const forged of [
      '',
      'x',
      encodedSlug,
      slugs[0],
      withFlippedBit,
      withOtherSlug,
      // Padding is another spelling of the same bytes.
      `${cursor}=`,
      `${cursor}A`,
      cursor.slice(1),
      "' or 1=1--",
      '%00',
    ]) {
      expectProblem(await get(`/api/guides?cursor=${encodeURIComponent(forged ?? '')}`), {
        status: 400,
        code: 'invalid-cursor',
      })
    }
    await using otherInstance = await startResource()
    expectProblem(await sendRequest(otherInstance.origin, { path: `/api/guides?cursor=${cursor}` }), {
      status: 400,
      code: 'invalid-cursor',
    })
    expect((await get(`/api/guides?cursor=${cursor}`)).status).toBe(200)
  })

  test('is limited to 120 requests a minute without a token, and names a limit of 600 with one', async () => {
    await using limitedApi = await startResource({ env: { RESOURCE_LIMITS_FACTOR: '1' } })
    const token = limitedApi.auth.issue()
    const read = (headers: Record<string, string> = {}) =>
      sendRequest(limitedApi.origin, { path: '/api/guides', headers })
    const responses = await Promise.all(Array.from({ length: 121 }, () => read()))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(120)
    const refusal = responses.find(({ status }) => status === 429)
    if (!refusal) throw new Error('no request was refused')
    expectProblem(refusal, { status: 429, code: 'rate-limited' })
    expect(refusal.json()).toMatchObject({ policy: 'reads-anonymous' })
    const authenticated = await read({ authorization: `Bearer ${token}` })
    expect(authenticated.status).toBe(200)
    expect(authenticated.headers['ratelimit-policy']).toBe(
      '"reads-address";q=3000;w=60, "reads-client";q=600;w=60',
    )
  })
})

describe('GET /api/guides/{slug}', () => {
  test('returns exactly the members of the contract, and cites only listed sources', async () => {
    for (const slug of slugs) {
      const guide = (await get(`/api/guides/${slug}`)).json()
      expect(Object.keys(guide).sort()).toEqual(
        [
          'slug',
          'url',
          'title',
          'summary',
          'body',
          'sources',
          'updated',
          'reviewed',
          'stale',
          'statements',
          'staleStatements',
          'notChecked',
          'history',
          'version',
          'language',
          'disclaimer',
          'talkToAnAttorneyWhen',
        ].sort(),
      )
      const sources = guide['sources'] as Record<string, unknown>[]
      expect(Object.keys(sources[0] ?? {}).sort()).toEqual([
        'agency',
        'checked',
        'checkedBy',
        'copyFrom',
        'kind',
        'limitDays',
        'stale',
        'title',
        'url',
      ])
      const citedNumbers = [...String(guide['body']).matchAll(/\[(\d+)\](?!\()/g)].map(([, number]) =>
        Number(number),
      )
      expect(Math.max(...citedNumbers)).toBeLessThanOrEqual(sources.length)
      expect(guide['body']).not.toContain('[^')
    }
  })

  test('has the URL of its page, and for each source the day when it was checked', async () => {
    const guide = (await get('/api/guides/work-permit')).json()
    expect(guide['url']).toBe(`${api.origin}/guides/work-permit`)
    const packagedGuide = loadGuides().find(({ slug }) => slug === 'work-permit')
    const days = new Map(packagedGuide?.sources.map(({ url, checked }) => [url, checked]))
    for (const source of guide['sources'] as Record<string, string>[])
      expect(source).toMatchObject({
        copyFrom: days.get(source['url'] ?? ''),
        checked: days.get(source['url'] ?? ''),
      })
  })

  test('links other guides by absolute URLs, in JSON and in Markdown', async () => {
    let linkCount = 0
    for (const slug of slugs) {
      const guide = (await get(`/api/guides/${slug}`)).json()
      const markdown = (await get(`/api/guides/${slug}.md`)).body
      for (const text of [String(guide['body']), markdown]) {
        // No link is relative, because the text may be read without its address.
        expect(text).not.toMatch(/\]\((?!https?:)/)
        linkCount += text.split(`](${api.origin}/guides/`).length - 1
      }
    }
    // Without this, the test would also pass if the guides had no links.
    expect(linkCount).toBeGreaterThan(100)
  })

  test('returns Markdown if Accept requests it', async () => {
    const response = await get(`/api/guides/${slugs[0]}`, { accept: 'text/markdown' })
    const guide = (await get(`/api/guides/${slugs[0]}`)).json()
    expect(response.headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(response.headers['vary']).toMatch(/\bAccept\b/)
    expect(response.body.startsWith(`# ${guide['title']}\n\n`)).toBe(true)
    for (const part of [
      guide['summary'],
      ...String(guide['body']).split('\n'),
      guide['disclaimer'],
      '\n## Sources\n\n1. [',
    ]) {
      expect(response.body).toContain(part)
    }
  })

  test.for([
    [undefined, 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
    ['application/json', 'application/json; charset=utf-8'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'application/json; charset=utf-8'],
    ['text/markdown;q=0.5, application/json', 'application/json; charset=utf-8'],
    ['application/json;q=0.5, text/markdown', 'text/markdown; charset=utf-8'],
    ['text/*', 'text/markdown; charset=utf-8'],
  ] as const)('responds to Accept: %s with %s', async ([accept, type]) => {
    const response = await get(`/api/guides/${slugs[0]}`, accept === undefined ? {} : { accept })
    expect(response.headers['content-type']).toBe(type)
  })

  test.for(['image/png', 'text/html', 'application/json;q=0', 'nonsense'])(
    'responds 406 to Accept: %s',
    async (accept) => {
      const response = await get(`/api/guides/${slugs[0]}`, { accept })
      expectProblem(response, { status: 406, code: 'not-acceptable' })
      expect(response.json()['detail']).toContain('application/json or text/markdown')
    },
  )

  test.for([
    'nothing',
    'Avoid-Scams',
    'avoid-scams/',
    'avoid_scams',
    '..%2f..%2fpackage.json',
    '..%5c',
    'a%00b',
    '%zz',
    '%',
    '%ff',
    '__proto__',
    'constructor',
    '%27%20or%201=1--',
    // A slug has at most 80 characters.
    'x'.repeat(81),
    'x'.repeat(8000),
    '%E2%80%AE',
    'avoid-scams;x=1',
    'avoid-scams.json',
    '../../package.json',
    '..%2F..%2F..%2Fetc%2Fpasswd',
    '%2e%2e/%2e%2e/package.json',
    '..%252f..%252fpackage.json',
    'file:%2f%2f%2fetc%2fpasswd',
  ])('responds 400 or 404 to the slug %s', async (slug) => {
    const response = await get(`/api/guides/${slug}`)
    expect([400, 404]).toContain(response.status)
    expectProblem(
      response,
      response.status === 404 ? { status: 404, code: 'not-found' } : { status: 400, code: 'invalid-request' },
    )
  })

  test('does not log which guide was read', async () => {
    // Only one in a hundred successful reads is logged.
    for (let count = 0; count < 100; count += 1) await get(`/api/guides/${slugs[0]}?about=me`)
    const line = api.logLines.findLast((each) => each.includes('"msg":"request"')) ?? ''
    expect(JSON.parse(line)).toMatchObject({ route: '/api/guides/{slug}', status: 200, method: 'GET' })
    for (const slug of slugs) expect(api.logLines.join('')).not.toContain(slug)
    expect(api.logLines.join('')).not.toMatch(/about|127\.0\.0\.1|agt_/)
  })
})

import { loadGuides } from '@plainpath/guides'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const get = (path: string, headers = {}) => sendRequest(api.origin, { path, headers })
const search = async (q: string, otherParameters = '') => {
  const { guides, next } = (await get(`/api/guides?q=${encodeURIComponent(q)}${otherParameters}`)).json()
  expect(next).toBeNull()
  return guides as { slug: string; snippet: string; url: string; title: string }[]
}

describe('GET /api/guides?q=', () => {
  test('lists the best guide first, with a snippet and the best section', async () => {
    const results = await search('renew my green card')
    expect(results[0]).toMatchObject({
      slug: 'renew-green-card',
      url: `${api.origin}/guides/renew-green-card`,
      snippet: expect.stringMatching(/card/i),
    })
    const [best] = await search('renew a green card when will it expire within six months')
    expect(best).toMatchObject({
      section: {
        heading: 'When to ask for a new card',
        url: `${api.origin}/guides/renew-green-card#when-to-ask-for-a-new-card`,
      },
    })
    for (const { snippet } of results) {
      expect(snippet.length).toBeLessThanOrEqual(240)
      // A snippet is plain text, without the Markdown of a citation, a link or bold text.
      expect(snippet).not.toMatch(/\[\^|\]\(|\*\*/)
    }
    expect(await search('renew my green card', '&limit=2')).toEqual(results.slice(0, 2))
  })

  test('returns an empty list when nothing matches', async () =>
    expect(await search('zzzz qqqq')).toEqual([]))

  test('refuses q together with a cursor', async () => {
    const response = await get('/api/guides?q=visa&cursor=x')
    expectProblem(response, { status: 400, code: 'invalid-request' })
    expect(response.json()['errors']).toEqual([expect.objectContaining({ pointer: '?cursor' })])
  })

  test.for(['q=', 'q=%20', `q=${'x'.repeat(201)}`, 'q=a&q=b', 'q=visa&limit=0'])(
    'refuses ?%s',
    async (query) => {
      expectProblem(await get(`/api/guides?${query}`), { status: 400, code: 'invalid-request' })
    },
  )

  test.for(["' or 1=1--", '<script>', '%00', '\u202e', '__proto__', 'constructor', '*', '()', '😀'])(
    'accepts any text: %j',
    async (text) => {
      expect((await get(`/api/guides?q=${encodeURIComponent(text)}`)).status).toBe(200)
    },
  )

  test('must not be stored by caches, unlike the list', async () => {
    expect((await get('/api/guides?q=lost')).headers['cache-control']).toBe('no-store')
    expect((await get('/api/guides?limit=1')).headers['cache-control']).toBe('public, max-age=300')
  })

  test('does not log the query', async () => {
    await search('canary')
    expect(api.logLines.join('')).not.toContain('canary')
  })
})

describe('the page of results', () => {
  test('lists at most ten guides, best first, shows the query in the field, and must not be stored', async () => {
    const { body, headers } = await get('/search?q=lost%20green%20card')
    expect(body).toContain('value="lost green card"')
    const slugs = [...body.matchAll(/<li><a href="\/guides\/([a-z0-9-]+)"/g)].map(([, slug]) => slug)
    expect(slugs[0]).toBe('replace-lost-green-card')
    expect(slugs.length).toBeLessThanOrEqual(10)
    expect(headers['cache-control']).toBe('no-store')
    expect(body).toContain('<meta name="robots" content="noindex">')
  })

  test('is 200 for any query, and says if no guide was found', async () => {
    for (const query of ['', '?q=', '?q=a&q=b', `?q=${'x'.repeat(3000)}`, '?q=%3Cscript%3E', '?other=1']) {
      const { status, body } = await get(`/search${query}`)
      expect([query, status]).toEqual([query, 200])
      // The only script of the page is that of the quick exit.
      expect(body).not.toMatch(/<script(?! src="\/assets\/leave-)/)
    }
    expect((await get('/search?q=zzzzz')).body).toContain('No guide found')
  })

  test('is reached by a form on the home page, guides, /ask and /docs', async () => {
    for (const path of ['/', '/guides/work-permit', '/ask', '/docs'])
      expect((await get(path)).body).toContain('role="search" action="/search" method="get">')
  })

  test('links the matching sections, each of which exists', async () => {
    const { body } = await get('/search?q=when+can+I+start+to+work')
    const sections = [...body.matchAll(/<p class="snippet"><a href="(\/guides\/[^"#]+)#([^"]+)">/g)]
    expect(sections.length).toBeGreaterThan(2)
    for (const [, page = '', anchor] of sections) expect((await get(page)).body).toContain(`id="${anchor}"`)
  })

  test('offers similar words from the guides for an unknown word, and each finds a guide', async () => {
    // No guide contains this word.
    const { body } = await get('/search?q=taxid')
    const suggestions = [...body.matchAll(/href="(\/search\?q=[^"]+)"/g)].map(([, href]) => href ?? '')
    expect(suggestions.length).toBeGreaterThan(0)
    for (const href of suggestions) expect((await get(href)).body).not.toContain('No guide found')
    expect((await get('/search?q=zzzzz')).body).not.toContain('similar')
  })
})

test('every guide is found first by its own title', async () => {
  for (const { slug, title } of loadGuides())
    expect([title, (await search(title))[0]?.slug]).toEqual([title, slug])
})

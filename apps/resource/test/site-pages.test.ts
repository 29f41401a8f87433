import { loadGuides } from '@plainpath/guides'
import { API_VERSION, OPERATION_LIST, RETENTION } from '@plainpath/metadata'
import { DOCS_SCRIPT, PAGE_CSP } from '@plainpath/pages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RELEASES } from '../src/pages/changelog.ts'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const get = (path: string, accept = '*/*') => sendRequest(api.origin, { path, headers: { accept } })
const unescapeHtml = (markup: string) =>
  markup
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

describe('the home page as Markdown', () => {
  test('is served at / for Accept: text/markdown and at /index.md, with the same bytes', async () => {
    const [negotiated, direct] = [await get('/', 'text/markdown'), await get('/index.md')]
    for (const response of [negotiated, direct]) {
      expect(response.status).toBe(200)
      expect(response.headers['content-type']).toBe('text/markdown; charset=utf-8')
      expect(response.headers['vary']).toMatch(/\bAccept\b/)
    }
    expect(negotiated.body).toBe(direct.body)
  })

  test('has a different ETag from the HTML page, which is served for any other Accept', async () => {
    const markdown = await get('/', 'text/markdown, text/html;q=0.5')
    expect(markdown.headers['content-type']).toMatch(/^text\/markdown/)
    for (const accept of ['*/*', 'text/html', 'image/png', 'text/html, text/markdown;q=0.9']) {
      const page = await get('/', accept)
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(page.headers['etag']).not.toBe(markdown.headers['etag'])
    }
  })

  test('lists the guides and says how agents begin, with absolute addresses', async () => {
    const { body } = await get('/index.md')
    for (const { slug, title } of loadGuides())
      expect(body).toContain(`- [${title}](${api.origin}/guides/${slug})`)
    expect(body).toContain(`curl -fsS -X POST ${api.origin}/api/agent/register`)
    expect(body).toMatch(/not a law firm and not the government/)
    expect(body).toMatch(/send a message to our staff for a person .*\/auth\/verified-email\.md\)/)
    // The page has no relative link, and no value is missing.
    expect(body).not.toMatch(/\]\(\/|undefined/)
  })
})

test('the Link header of / names these documents, and each is served with the named type', async () => {
  const { headers } = await get('/')
  const links = [...(headers['link'] ?? '').matchAll(/<([^>]+)>; rel="([^"]+)"; type="([^"]+)"/g)]
  expect(new Set(links.map(([, , relation]) => relation))).toEqual(
    new Set([
      'api-catalog',
      'service-desc',
      'service-doc',
      'describedby',
      'ai-catalog',
      'alternate',
      'privacy-policy',
      'terms-of-service',
    ]),
  )
  for (const [, href = '', , type = ''] of links) {
    const path = href.replace(api.origin, '')
    // The authorization server, which does not run here, serves `/auth.md` and everything below `/auth/`.
    if (/^\/auth[./]/.test(path)) continue
    const response = await get(path, type)
    expect([href, response.status, response.headers['content-type']?.split(';')[0]]).toEqual([
      href,
      200,
      type,
    ])
  }
})

test.for(['/connect', '/privacy', '/terms', '/changelog', '/docs'])(
  '%s may be cached for five minutes, and has no inline script or style',
  async (path) => {
    const { status, headers, body } = await get(path)
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'public, max-age=300',
      'content-security-policy': expect.not.stringContaining('unsafe'),
    })
    // `undefined` and `[object` would be in the page if a value was missing or an object.
    expect(body).not.toMatch(/<script(?! src="\/assets\/)|<style|\sstyle=|undefined|\[object/)
  },
)

test('/privacy has every row of the retention table', async () => {
  const body = unescapeHtml((await get('/privacy')).body.replaceAll(/<[^>]*>/g, ''))
  for (const { what, how, howLong } of RETENTION)
    for (const part of [what, how, howLong]) expect(body).toContain(part)
})

test('/changelog begins with the running version', async () => {
  expect(/<h2>([^<]*)<\/h2>/.exec((await get('/changelog')).body)?.[1]).toBe(API_VERSION)
})

test('/changelog lists the changes of each day, newest day first', async () => {
  const { body } = await get('/changelog')
  const days = [...body.matchAll(/<h3><time datetime="([^"]+)">([^<]+)<\/time><\/h3>/g)]
  const pageText = unescapeHtml(body.replaceAll(/<[^>]*>/g, ''))
  expect(days.length).toBeGreaterThan(1)
  expect(days.map(([, day]) => day)).toEqual(
    days
      .map(([, day]) => day)
      .toSorted()
      .toReversed(),
  )
  for (const [, , shownDay] of days) expect(shownDay).toMatch(/^[A-Z][a-z]+ \d{1,2}, 2\d{3}$/)
  for (const { changes } of RELEASES)
    for (const { text } of changes) expect(pageText).toContain(text.replaceAll('`', ''))
})

test('/changelog names every operation once, with its method and path and a link to its description', async () => {
  const { body } = await get('/changelog')
  const linkedOperations = Array.from(
    body.matchAll(/<a href="\/docs#(\w+)"><code>([A-Z]+ \/[^<]+)<\/code><\/a>/g),
    ([, operationId, methodAndPath]) => ({ operationId, methodAndPath }),
  )
  const operations = OPERATION_LIST.map(({ operationId, method, path }) => ({
    operationId,
    methodAndPath: `${method.toUpperCase()} ${path}`,
  }))
  const compareIds = (
    one: { operationId?: string | undefined },
    other: { operationId?: string | undefined },
  ) => (one.operationId ?? '').localeCompare(other.operationId ?? '')
  expect(linkedOperations.toSorted(compareIds)).toEqual(operations.toSorted(compareIds))
})

describe('/docs', () => {
  test.for(
    OPERATION_LIST.map(({ operationId, summary, method, path }) => ({
      operationId,
      summary,
      method,
      path,
    })),
  )(
    'shows $operationId with its method, URL and a curl command',
    async ({ operationId, summary, method, path }) => {
      // `form-name` marks words that must not be broken, such as the name of a form. It may divide the summary.
      const body = unescapeHtml(
        (await get('/docs')).body.replaceAll(/<span class="form-name">([^<]*)<\/span>/g, '$1'),
      )
      const [, afterHeading = ''] = body.split(`<h3 id="${operationId}">`)
      const [operationMarkup = ''] = afterHeading.split('<h3')
      expect(operationMarkup).toContain(summary)
      expect(operationMarkup).toContain(`${method.toUpperCase()} ${api.origin}${path}`)
      expect(operationMarkup).toMatch(/<code class="command"><span>curl -sS<\/span> .*<span>'?https?:/)
      expect(body).toContain(
        `<a href="#${operationId}"><code>${method.toUpperCase()} ${path}</code> ${summary}</a>`,
      )
    },
  )

  test('begins with a command and its current response', async () => {
    const body = unescapeHtml((await get('/docs')).body)
    const [, address = ''] = /<code class="command"><span>curl -sS<\/span> <span>'([^']+)'/.exec(body) ?? []
    const [, shownResponse = ''] = /<pre id="first-response"><code>([^<]+)</.exec(body) ?? []
    const response = await get(address.replace(api.origin, ''))
    expect(response.status).toBe(200)
    expect(JSON.parse(shownResponse)).toEqual(JSON.parse(response.body))
    expect(JSON.parse(shownResponse).guides).toHaveLength(1)
  })

  test('has no Markdown backticks outside examples', async () => {
    const text = (await get('/docs')).body.replaceAll(/<pre>[^]*?<\/pre>/g, '')
    expect(text.split('\n').filter((line) => line.includes('`'))).toEqual([])
  })

  test('has a form for each GET that needs no credentials, and the form works without scripts', async () => {
    const { body } = await get('/docs')
    const forms = [...body.matchAll(/<form class="form try" action="([^"]+)" method="get">([^]*?)<\/form>/g)]
    const openPaths = OPERATION_LIST.filter(
      ({ method, access }) => method === 'get' && (access === 'open' || access === 'public'),
    ).map(({ path }) => path.replace('{slug}', loadGuides()[0]?.slug ?? ''))
    expect(forms.map(([, action]) => action).toSorted()).toEqual(openPaths.toSorted())
    for (const [, action = '', formMarkup = ''] of forms) {
      const fields = Array.from(
        formMarkup.matchAll(/name="([^"]+)"[^>]*value="([^"]*)"/g),
        ([, ...field]) => field as [string, string],
      )
      const response = await get(`${action}?${new URLSearchParams(fields)}`, 'text/html,*/*;q=0.8')
      expect([action, response.status]).toEqual([action, 200])
    }
  })

  test('runs one script, which may send requests only to this origin', async () => {
    const { headers, body } = await get('/docs')
    expect(headers['content-security-policy']).toBe(`${PAGE_CSP}; script-src 'self'; connect-src 'self'`)
    expect(body.match(/<script[^>]*>/g)).toEqual([`<script src="${DOCS_SCRIPT.path}" defer>`])
    expect((await get(DOCS_SCRIPT.path)).body).toBe(DOCS_SCRIPT.body)
  })

  test('names parameters and body members with their types, and says which are required', async () => {
    const body = unescapeHtml((await get('/docs')).body)
    expect(body).toContain('<dt><code>email</code> <span class="facts">body, email, required</span></dt>')
    expect(body).toContain(
      '<dt><code>referredBySlug</code> <span class="facts">body, string or null, optional</span></dt>',
    )
    expect(body).toContain('<dt><code>limit</code> <span class="facts">query, integer, optional</span></dt>')
  })
})

test.for([
  '/',
  '/guides',
  '/get-help',
  '/es/obtener-ayuda',
  '/search?q=work+permit',
  '/search?q=zzzzz',
  '/problems',
  '/docs',
  '/connect',
  '/privacy',
  '/terms',
  '/changelog',
  '/waitlist',
])(
  '%s and its assets take less than 50 kB compressed, and the page alone less than 50 kB (/docs: 80 kB) uncompressed',
  async (path) => {
    const { body } = await get(path)
    const assetPaths = Array.from(
      body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g),
      ([, address = '']) => address,
    )
    const sizes = await Promise.all(
      [path, ...assetPaths].map(async (pageOrAsset) => {
        const headers = { accept: '*/*', 'accept-encoding': 'gzip' }
        const response = await sendRequest(api.origin, { path: pageOrAsset, headers })
        return Number(response.headers['content-length'])
      }),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(50_000)
    // Phones with little memory have to hold the uncompressed page.
    expect(Buffer.byteLength(body)).toBeLessThan(path === '/docs' ? 80_000 : 50_000)
  },
)

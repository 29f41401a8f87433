import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Service, startService } from '../../test/start-service.ts'
import { createDocumentRoutes } from './document-routes.ts'

let service: Service
/** Part of the content of `/list.txt`. */
let version = 0
beforeAll(async () => {
  service = await startService({
    routes: createDocumentRoutes(
      [
        {
          path: '/catalog',
          contentType: 'application/linkset+json; profile="https://profile.example"',
          otherTypes: ['application/json'],
          content: '{"linkset":[]}',
          headers: { link: '</catalog>; rel="api-catalog"' },
        },
        {
          path: '/parts',
          contentType: 'text/plain; charset=utf-8',
          content: 'whole',
          part: z
            .object({ name: z.enum(['a', 'b']).optional() })
            .transform(({ name }) => name && (() => `part ${name}`)),
        },
        { path: '/list.txt', contentType: 'text/plain; charset=utf-8', content: () => `read ${version}` },
      ],
      {},
    ),
  })
})
afterAll(() => service[Symbol.asyncDispose]())

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}${path}`, { headers })

const OWN_TYPE = 'application/linkset+json; profile="https://profile.example"'

test.for([
  { accept: '(none)', type: OWN_TYPE },
  { accept: '*/*', type: OWN_TYPE },
  { accept: 'application/linkset+json, application/json', type: OWN_TYPE },
  { accept: 'application/json', type: 'application/json' },
  { accept: 'application/linkset+json;q=0.5, application/json', type: 'application/json' },
  // The document has none of the accepted media types, so its own type is sent.
  { accept: 'text/html', type: OWN_TYPE },
])(
  'serves one content for every Accept header: $accept gets the content type $type',
  async ({ accept, type }) => {
    const response = await get('/catalog', accept === '(none)' ? {} : { accept })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('link')).toBe('</catalog>; rel="api-catalog"')
    expect(await response.text()).toBe('{"linkset":[]}')
  },
)

test('responds to HEAD with the headers and no body', async () => {
  const response = await fetch(`${service.url}/catalog`, { method: 'HEAD' })
  expect(response.headers.get('link')).toBe('</catalog>; rel="api-catalog"')
  expect(response.headers.get('content-length')).toBe('14')
  expect(await response.text()).toBe('')
})

test('serves the part that the query selects, with its own ETag; the whole document without such a query; and 400 for an invalid one', async () => {
  const responses = await Promise.all(
    ['', '?name=a', '?name=b', '?other=1'].map((query) => get(`/parts${query}`)),
  )
  expect(await Promise.all(responses.map((response) => response.text()))).toEqual([
    'whole',
    'part a',
    'part b',
    'whole',
  ])
  const etags = responses.map((response) => response.headers.get('etag') ?? '')
  // The first and the last response have the same content.
  expect(new Set(etags).size).toBe(3)
  expect((await get('/parts?name=c')).status).toBe(400)
})

test('calls the content function for each request, and changes the ETag with the content', async () => {
  const firstResponse = await get('/list.txt')
  expect(await firstResponse.text()).toBe('read 0')
  expect((await get('/list.txt')).headers.get('etag')).toBe(firstResponse.headers.get('etag'))
  version = 1
  const secondResponse = await get('/list.txt')
  expect(await secondResponse.text()).toBe('read 1')
  expect(secondResponse.headers.get('etag')).not.toBe(firstResponse.headers.get('etag'))
})

test('counts requests for a part against further limits, and creates no part for a refused one', async () => {
  const createdParts: string[] = []
  const createPart = (name: string) => () => {
    createdParts.push(name)
    return `part ${name}`
  }
  const Part = z
    .object({ name: z.string().optional() })
    .transform(({ name }) => (name === undefined ? undefined : createPart(name)))
  const document = { path: '/parts', contentType: 'text/plain', content: 'whole', part: Part } as const
  const partLimits = [{ name: 'parts', quota: 2, windowSeconds: 60 }]
  await using limitedService = await startService({
    routes: createDocumentRoutes([document], {}, partLimits),
  })
  const send = (query: string, options: RequestInit = {}) =>
    fetch(`${limitedService.url}/parts${query}`, options)
  const statuses: number[] = []
  for (const method of ['HEAD', 'GET', 'GET', 'HEAD'])
    statuses.push((await send(`?name=${statuses.length}`, { method })).status)
  expect(statuses).toEqual([200, 200, 429, 429])
  expect(createdParts).toEqual(['0', '1'])
  const whole = await send('')
  expect([whole.status, whole.headers.get('ratelimit-policy')]).toEqual([200, null])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, startService } from '../../test/start-service.ts'
import { documentRoutes } from './document-routes.ts'

let service: Service
let counted = 0
beforeAll(async () => {
  service = await startService({
    routes: documentRoutes(
      [
        {
          path: '/catalog',
          contentType: 'application/linkset+json; profile="https://profile.example"',
          alsoAs: ['application/json'],
          content: '{"linkset":[]}',
          headers: { link: '</catalog>; rel="api-catalog"' },
        },
        { path: '/list.txt', contentType: 'text/plain; charset=utf-8', content: () => `asked ${counted}` },
      ],
      {},
    ),
  })
})
afterAll(() => service[Symbol.asyncDispose]())

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}${path}`, { headers })

test.for([
  [undefined, 'application/linkset+json; profile="https://profile.example"'],
  ['*/*', 'application/linkset+json; profile="https://profile.example"'],
  [
    'application/linkset+json, application/json',
    'application/linkset+json; profile="https://profile.example"',
  ],
  ['application/json', 'application/json'],
  ['application/linkset+json;q=0.5, application/json', 'application/json'],
  ['text/html', 'application/linkset+json; profile="https://profile.example"'],
] as const)('Accept: %s is answered with the same bytes as %s', async ([accept, type]) => {
  const answer = await get('/catalog', accept === undefined ? {} : { accept })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe(type)
  expect(answer.headers.get('link')).toBe('</catalog>; rel="api-catalog"')
  expect(await answer.text()).toBe('{"linkset":[]}')
})

test('HEAD has the headers and no body', async () => {
  const answer = await fetch(`${service.url}/catalog`, { method: 'HEAD' })
  expect(answer.headers.get('link')).toBe('</catalog>; rel="api-catalog"')
  expect(answer.headers.get('content-length')).toBe('14')
  expect(await answer.text()).toBe('')
})

test('what can change is asked for each time, and its tag changes with it', async () => {
  const first = await get('/list.txt')
  expect(await first.text()).toBe('asked 0')
  expect((await get('/list.txt')).headers.get('etag')).toBe(first.headers.get('etag'))
  counted = 1
  const second = await get('/list.txt')
  expect(await second.text()).toBe('asked 1')
  expect(second.headers.get('etag')).not.toBe(first.headers.get('etag'))
})

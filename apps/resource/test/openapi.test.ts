import { OPERATION_LIST } from '@plainpath/metadata'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const get = (query: string, headers = {}, method = 'GET') =>
  sendRequest(api.origin, { method, path: `/openapi.json${query}`, headers })

interface OpenApiDocument {
  info: { title: string; version: string; description: string }
  servers: unknown[]
  paths: Record<string, Record<string, { operationId?: string }>>
}

const listOperationIds = ({ paths }: OpenApiDocument) =>
  Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ operationId }) => operationId ?? []))

async function readDocument(query: string): Promise<OpenApiDocument> {
  const { status, body } = await get(query)
  expect(status).toBe(200)
  return JSON.parse(body) as OpenApiDocument
}

test.for(OPERATION_LIST)('?operation=$operationId returns only that operation', async ({ operationId }) => {
  const [whole, part] = [await readDocument(''), await readDocument(`?operation=${operationId}`)]
  expect(listOperationIds(part)).toEqual([operationId])
  expect(part).toMatchObject({ openapi: '3.1.0', servers: whole.servers })
  expect(part.info).toEqual({ ...whole.info, description: part.info.description })
  expect(part.info.description).toContain(`${api.origin}/openapi.json`)
})

test.for([
  ['?operation=getHealth,getGuide', ['getGuide', 'getHealth']],
  ['?operation=createToken&operation=getGuide', ['getGuide', 'createToken']],
  ['?tag=OAuth', ['createToken', 'revokeToken']],
  ['?tag=OAuth,Health', ['createToken', 'revokeToken', 'getHealth']],
  ['?tag=Health&operation=registerAgent&x=1', ['registerAgent', 'getHealth']],
] as const)('%s returns the operations of all its names', async ([query, expected]) => {
  expect(listOperationIds(await readDocument(query))).toEqual(expected)
})

test('the order of the names does not change the document', async () => {
  const { headers, body } = await get('?operation=getGuide,createToken')
  const reorderedResponse = await get('?operation=createToken&operation=getGuide')
  expect(reorderedResponse.body).toBe(body)
  expect(reorderedResponse.headers['etag']).toBe(headers['etag'])
})

test('an unknown parameter is ignored, and the whole document is served', async () => {
  expect((await get('?x=1')).body).toBe((await get('')).body)
})

test('a part may be cached for five minutes, has its own ETag, and supports conditional requests and HEAD', async () => {
  const part = await get('?operation=getGuide', { origin: 'https://anywhere.example' })
  expect(part.headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'public, max-age=300',
    vary: 'Accept, Accept-Encoding, Authorization',
    'access-control-allow-origin': '*',
  })
  const { etag = '' } = part.headers
  expect(etag).toMatch(/^"[\w-]{22}"$/)
  expect(etag).not.toBe((await get('')).headers['etag'])
  const conditionalResponse = await get('?operation=getGuide', { 'if-none-match': etag })
  expect([conditionalResponse.status, conditionalResponse.body, conditionalResponse.headers['etag']]).toEqual(
    [304, '', etag],
  )
  const head = await get('?operation=getGuide', {}, 'HEAD')
  expect([head.status, head.body]).toEqual([200, ''])
  for (const name of ['content-type', 'etag', 'cache-control', 'vary'])
    expect(head.headers[name]).toBe(part.headers[name])
  expect(head.headers['content-length']).toBe(String(Buffer.byteLength(part.body)))
})

test('a part has the media type that Accept requests, and is compressed', async () => {
  const typedResponse = await get('?tag=OAuth', { accept: 'application/openapi+json' })
  expect(typedResponse.headers['content-type']).toBe('application/openapi+json')
  const compressedResponse = await get('?tag=OAuth', { 'accept-encoding': 'br' })
  expect(compressedResponse.headers['content-encoding']).toBe('br')
})

test.for([
  '?operation=getGuid',
  '?operation=',
  '?operation=getGuide,',
  '?tag=guides',
  '?tag=Guides&operation=x',
])('%s is refused with 400, and the response lists valid names', async (query) => {
  const response = await get(query)
  expectProblem(response, { status: 400, code: 'invalid-request' })
  const firstNames = query.includes('operation') ? 'listGuides, getGuide, ' : 'Guides, Answers, '
  expect(response.json()['detail']).toContain(firstNames)
  expect(response.headers['cache-control']).toBe('no-store')
})

test('/docs links every operation to its part', async () => {
  const { body } = await sendRequest(api.origin, { path: '/docs' })
  for (const { operationId } of OPERATION_LIST)
    expect(body).toContain(`href="/openapi.json?operation=${operationId}"`)
})

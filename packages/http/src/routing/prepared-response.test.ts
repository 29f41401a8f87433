import { type IncomingHttpHeaders, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startService } from '../../test/start-service.ts'
import { prepareOnce, prepareResponse } from './prepared-response.ts'
import { defineRoute } from './route.ts'

const TEXT = 'A guide says the same thing for everybody. '.repeat(40)
const TYPE = 'text/plain; charset=utf-8'
const createPreparedRoute = (path: `/${string}`, content: string) => {
  const prepared = prepareResponse(TYPE, content)
  return defineRoute({
    method: 'get',
    path,
    operationId: path,
    summary: '',
    access: 'public',
    limits: {},
    cache: 'public',
    responses: { 200: z.string() },
    handle: () => ({ status: 200, headers: { link: '</>' }, prepared }),
  })
}

/** Sends a request without `fetch`, which would set `Accept-Encoding` and decompress the body. */
async function get(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; bytes: Buffer }> {
  await using service = await startService({
    routes: [createPreparedRoute('/long', TEXT), createPreparedRoute('/short', 'Yes.')],
  })
  return await new Promise((resolve, reject) => {
    const clientRequest = request({ port: service.port, path, method, headers }, (response) => {
      response
        .toArray()
        .then(
          (chunks) =>
            resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
          reject,
        )
    })
    clientRequest.on('error', reject).end()
  })
}

test.for([
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['br;q=0, gzip;q=0', undefined],
  ['deflate', undefined],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['br;q=0, *', 'gzip'],
  ['*', 'br'],
] as const)('responds to Accept-Encoding %j with Content-Encoding %s', async ([acceptEncoding, coding]) => {
  const { status, headers, bytes } = await get(
    '/long',
    acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding },
  )
  const decode = { br: brotliDecompressSync, gzip: gunzipSync, plain: (body: Buffer) => body }
  expect([status, headers['content-type'], headers['content-encoding'], headers['link']]).toEqual([
    200,
    TYPE,
    coding,
    '</>',
  ])
  expect(decode[coding ?? 'plain'](bytes).toString()).toBe(TEXT)
  expect(headers['content-length']).toBe(String(bytes.length))
  expect(headers.vary).toBe('Accept, Accept-Encoding, Authorization')
})

test('gives each coding its own strong tag, and responds with 304 to that tag', async () => {
  const tags = await Promise.all(
    ['identity', 'gzip', 'br'].map(
      async (coding) => (await get('/long', { 'accept-encoding': coding })).headers.etag,
    ),
  )
  expect(new Set(tags).size).toBe(3)
  const secondResponse = await get('/long', { 'accept-encoding': 'br', 'if-none-match': String(tags[2]) })
  expect([secondResponse.status, secondResponse.bytes.length]).toEqual([304, 0])
  expect(secondResponse.headers.etag).toBe(tags[2])
  for (const name of ['content-encoding', 'content-type', 'content-length'])
    expect(secondResponse.headers[name]).toBeUndefined()
  expect((await get('/long', { 'if-none-match': String(tags[2]) })).status).toBe(200)
})

test('responds to HEAD with the headers of GET', async () => {
  const headResponse = await get('/long', { 'accept-encoding': 'br' }, 'HEAD')
  const getResponse = await get('/long', { 'accept-encoding': 'br' })
  expect(headResponse.bytes.length).toBe(0)
  for (const name of ['etag', 'content-length', 'content-encoding'])
    expect(headResponse.headers[name]).toBe(getResponse.headers[name])
})

test('does not compress content that would not get smaller', async () => {
  expect((await get('/short', { 'accept-encoding': 'br, gzip' })).headers['content-encoding']).toBeUndefined()
})

test('prepares a response once for each key', () => {
  let preparedCount = 0
  const prepareText = prepareOnce<{ text: string }>(({ text }) => {
    preparedCount += 1
    return prepareResponse(TYPE, text)
  })
  const [key, otherKey] = [{ text: 'a' }, { text: 'a' }]
  expect(prepareText(key)).toBe(prepareText(key))
  expect(prepareText(otherKey)).not.toBe(prepareText(key))
  expect(preparedCount).toBe(2)
})

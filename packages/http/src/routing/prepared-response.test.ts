import { type IncomingHttpHeaders, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startService } from '../../test/start-service.ts'
import { prepareOnce, prepareResponse } from './prepared-response.ts'
import { defineRoute } from './route.ts'

const TEXT = 'A guide says the same thing for everybody. '.repeat(40)
const TYPE = 'text/plain; charset=utf-8'
const route = (path: `/${string}`, content: string) => {
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

async function get(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; bytes: Buffer }> {
  await using service = await startService({ routes: [route('/long', TEXT), route('/short', 'Yes.')] })
  return await new Promise((resolve, reject) => {
    const sent = request({ port: service.port, path, method, headers }, (response) => {
      response
        .toArray()
        .then(
          (chunks) =>
            resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
          reject,
        )
    })
    sent.on('error', reject).end()
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
] as const)('responds to Accept-Encoding %j with %s', async ([accepted, coding]) => {
  const { status, headers, bytes } = await get(
    '/long',
    accepted === undefined ? {} : { 'accept-encoding': accepted },
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
  const again = await get('/long', { 'accept-encoding': 'br', 'if-none-match': String(tags[2]) })
  expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, tags[2]])
  for (const name of ['content-encoding', 'content-type', 'content-length'])
    expect(again.headers[name]).toBeUndefined()
  expect((await get('/long', { 'if-none-match': String(tags[2]) })).status).toBe(200)
})

test('responds to HEAD with the headers of GET', async () => {
  const head = await get('/long', { 'accept-encoding': 'br' }, 'HEAD')
  const got = await get('/long', { 'accept-encoding': 'br' })
  expect(head.bytes.length).toBe(0)
  for (const name of ['etag', 'content-length', 'content-encoding'])
    expect(head.headers[name]).toBe(got.headers[name])
})

test('sends content uncompressed that would not get smaller', async () => {
  expect((await get('/short', { 'accept-encoding': 'br, gzip' })).headers['content-encoding']).toBeUndefined()
})

test('prepares a response once for each key', () => {
  let preparedCount = 0
  const prepared = prepareOnce<{ text: string }>(({ text }) => {
    preparedCount += 1
    return prepareResponse(TYPE, text)
  })
  const [key, other] = [{ text: 'a' }, { text: 'a' }]
  expect(prepared(key)).toBe(prepared(key))
  expect(prepared(other)).not.toBe(prepared(key))
  expect(preparedCount).toBe(2)
})

import { expect, test } from 'vitest'
import { readResponse } from './connection.ts'
import { summarizeLatency, summarizeSpread } from './quantiles.ts'

/** The head of a response with the body `fine`, without the empty line at its end, so that a test can add a header. */
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n'
const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

test.for([
  ['half of a head', 'HTTP/1.1 200 O', { kind: 'partial' }],
  ['a head without its body', `${HEAD}\r\n`, { kind: 'partial' }],
  ['a part of the body', `${HEAD}\r\nfin`, { kind: 'partial' }],
  ['a complete response', `${HEAD}\r\nfine`, { kind: 'complete', status: 200, closesConnection: false }],
  [
    'a response after which the server closes the connection',
    `${HEAD}Connection: close\r\n\r\nfine`,
    { kind: 'complete', closesConnection: true },
  ],
  ['a response without content', 'HTTP/1.1 204 No Content\r\n\r\n', { kind: 'complete', status: 204 }],
  ['more bytes than Content-Length says', `${HEAD}\r\nfine!`, { kind: 'unreadable' }],
  ['chunked content that has not begun', CHUNKED_HEAD, { kind: 'partial' }],
  ['a chunk that is not the last', `${CHUNKED_HEAD}4\r\nfine\r\n`, { kind: 'partial' }],
  ['a part of the last chunk', `${CHUNKED_HEAD}4\r\nfine\r\n0\r\n`, { kind: 'partial' }],
  [
    'all chunks',
    `${CHUNKED_HEAD}4\r\nfine\r\n0\r\n\r\n`,
    { kind: 'complete', status: 200, closesConnection: false },
  ],
  ['chunked content that is empty', `${CHUNKED_HEAD}0\r\n\r\n`, { kind: 'complete', status: 200 }],
  ['content of unknown length', 'HTTP/1.1 200 OK\r\n\r\nfine', { kind: 'unreadable' }],
  ['another protocol', 'SSH-2.0\r\n\r\n', { kind: 'unreadable' }],
] satisfies [string, string, object][])('classifies %s', ([_name, text, expected]) => {
  expect(readResponse(Buffer.from(text))).toMatchObject(expected)
})

test('a quantile is one of the samples, and the median of four values is the mean of the middle two', () => {
  const hundred = Array.from({ length: 100 }, (_none, index) => 100 - index)
  expect(summarizeLatency(hundred)).toEqual({ p50: 50, p99: 99, most: 100 })
  expect(summarizeLatency([7])).toEqual({ p50: 7, p99: 7, most: 7 })
  expect(summarizeSpread([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 })
  expect(summarizeSpread([4, 1, 2, 3])).toEqual({ median: 2.5, least: 1, most: 4 })
})

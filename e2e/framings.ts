import { formatRequest } from './converse.ts'

/**
 * Headers and a body that two servers may delimit differently. A server that ends the body early takes `inner`, the
 * bytes after it, for a second request. A server that ends the body late takes `inner` for a part of the body.
 */
export interface Framing {
  readonly name: string
  readonly headers: (inner: string) => readonly string[]
  readonly body: (inner: string) => string
}

const FOUR_BYTES = 'abcd'
const createLengthFraming = (name: string, ...values: ((totalLength: number) => string)[]): Framing => ({
  name,
  headers: (inner) => values.map((value) => `Content-Length: ${value(FOUR_BYTES.length + inner.length)}`),
  body: (inner) => FOUR_BYTES + inner,
})
const LAST_CHUNK = '0\r\n\r\n'
const createChunkFraming = (name: string, ...headers: string[]): Framing => ({
  name,
  headers: (inner) => headers.map((line) => line.replace('WHOLE', String(LAST_CHUNK.length + inner.length))),
  body: (inner) => LAST_CHUNK + inner,
})

/**
 * Invalid framings, and the two that combine valid chunks with a length. RFC 9112 §6.3 lets a server process those
 * two by their chunks.
 */
export const FRAMINGS: readonly Framing[] = [
  createChunkFraming('a length and chunks', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked'),
  createChunkFraming('chunks and a length', 'Transfer-Encoding: chunked', 'Content-Length: WHOLE'),
  createChunkFraming('an unknown transfer coding', 'Content-Length: WHOLE', 'Transfer-Encoding: xchunked'),
  createChunkFraming('chunked twice', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, chunked'),
  createChunkFraming('chunked, identity', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, identity'),
  createChunkFraming('two transfer codings', 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked'),
  createChunkFraming('a control before chunked', 'Content-Length: WHOLE', 'Transfer-Encoding: \x0bchunked'),
  createChunkFraming('chunked in quotes', 'Content-Length: WHOLE', 'Transfer-Encoding: "chunked"'),
  createChunkFraming('a space before the colon', 'Content-Length: WHOLE', 'Transfer-Encoding : chunked'),
  createChunkFraming('a folded header', 'Content-Length: WHOLE', 'X: x', ' Transfer-Encoding: chunked'),
  createChunkFraming('NUL in a header', 'Content-Length: WHOLE', 'X: \0', 'Transfer-Encoding: chunked'),
  createChunkFraming('CR in a header', 'Content-Length: WHOLE', 'X: a\rTransfer-Encoding: chunked'),
  createLengthFraming('two lengths', () => '4', String),
  createLengthFraming('two lengths, the long one first', String, () => '4'),
  createLengthFraming('a length with a sign', () => '+4'),
  createLengthFraming('a hexadecimal length', () => '0x4'),
  createLengthFraming('a list of lengths', (totalLength) => `4, ${totalLength}`),
  createLengthFraming('a negative length', () => '-4'),
  createLengthFraming('a length with a space in it', () => '4 4'),
  createLengthFraming('a length with a fraction', () => '4.0'),
  createLengthFraming('a length above 64 bits', () => '99999999999999999999'),
  {
    name: 'a chunk length above 64 bits',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `FFFFFFFFFFFFFFFFF\r\n${FOUR_BYTES}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    name: 'a chunk length with a sign',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `+4\r\n${FOUR_BYTES}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    name: 'a chunk longer than its length',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `2\r\n${FOUR_BYTES}\r\n${LAST_CHUNK}${inner}`,
  },
]

/** Formats a request that hides the request `inner` in the bytes after its headers. */
export const formatFramedRequest = ({ headers, body }: Framing, host: string, line: string, inner: string) =>
  formatRequest(line, host, headers(inner), body(inner))

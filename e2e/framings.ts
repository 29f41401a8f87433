import { request } from './converse.ts'

/** A request whose body has four bytes for one server and contains a whole request for another. */
export interface Framing {
  readonly why: string
  readonly headers: (inner: string) => readonly string[]
  readonly body: (inner: string) => string
}

const FOUR_BYTES = 'abcd'
const createLengthFraming = (why: string, ...values: ((totalLength: number) => string)[]): Framing => ({
  why,
  headers: (inner) => values.map((value) => `Content-Length: ${value(FOUR_BYTES.length + inner.length)}`),
  body: (inner) => FOUR_BYTES + inner,
})
const LAST_CHUNK = '0\r\n\r\n'
const createChunkFraming = (why: string, ...headers: string[]): Framing => ({
  why,
  headers: (inner) => headers.map((line) => line.replace('WHOLE', String(LAST_CHUNK.length + inner.length))),
  body: (inner) => LAST_CHUNK + inner,
})

/** Framings that two servers could end at different bytes. A server must reject all of them. */
export const FRAMINGS: readonly Framing[] = [
  createChunkFraming('a length and chunks', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked'),
  createChunkFraming('chunks and a length', 'Transfer-Encoding: chunked', 'Content-Length: WHOLE'),
  createChunkFraming('chunks, spelt wrong', 'Content-Length: WHOLE', 'Transfer-Encoding: xchunked'),
  createChunkFraming('chunks of chunks', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, chunked'),
  createChunkFraming('chunks and then not', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, identity'),
  createChunkFraming('chunks under two headers', 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked'),
  createChunkFraming('chunks behind a control', 'Content-Length: WHOLE', 'Transfer-Encoding: \x0bchunked'),
  createChunkFraming('chunks in quotes', 'Content-Length: WHOLE', 'Transfer-Encoding: "chunked"'),
  createChunkFraming('a blank before the colon', 'Content-Length: WHOLE', 'Transfer-Encoding : chunked'),
  createChunkFraming('a folded header', 'Content-Length: WHOLE', 'X: x', ' Transfer-Encoding: chunked'),
  createChunkFraming('NUL in a header', 'Content-Length: WHOLE', 'X: \0', 'Transfer-Encoding: chunked'),
  createChunkFraming('CR in a header', 'Content-Length: WHOLE', 'X: a\rTransfer-Encoding: chunked'),
  createLengthFraming('two lengths', () => '4', String),
  createLengthFraming('two lengths, the long one first', String, () => '4'),
  createLengthFraming('a length with a sign', () => '+4'),
  createLengthFraming('a hexadecimal length', () => '0x4'),
  createLengthFraming('a list of lengths', (totalLength) => `4, ${totalLength}`),
  createLengthFraming('a negative length', () => '-4'),
  createLengthFraming('a length with a blank in it', () => '4 4'),
  createLengthFraming('a length with a fraction', () => '4.0'),
  createLengthFraming('a length past all numbers', () => '99999999999999999999'),
  {
    why: 'a chunk longer than numbers go',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `FFFFFFFFFFFFFFFFF\r\n${FOUR_BYTES}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    why: 'a chunk with a sign',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `+4\r\n${FOUR_BYTES}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    why: 'a chunk that is longer than it says',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `2\r\n${FOUR_BYTES}\r\n${LAST_CHUNK}${inner}`,
  },
]

/** Builds a request whose body hides another one. */
export const framed = ({ headers, body }: Framing, host: string, line: string, inner: string) =>
  request(line, host, headers(inner), body(inner))

import { request } from './converse.ts'

/** A request whose body has four bytes for one server and contains a whole request for another. */
export interface Framing {
  readonly why: string
  readonly headers: (inner: string) => readonly string[]
  readonly body: (inner: string) => string
}

const FOUR = 'abcd'
const lengths = (why: string, ...values: ((whole: number) => string)[]): Framing => ({
  why,
  headers: (inner) => values.map((value) => `Content-Length: ${value(FOUR.length + inner.length)}`),
  body: (inner) => FOUR + inner,
})
const LAST_CHUNK = '0\r\n\r\n'
const chunked = (why: string, ...headers: string[]): Framing => ({
  why,
  headers: (inner) => headers.map((line) => line.replace('WHOLE', String(LAST_CHUNK.length + inner.length))),
  body: (inner) => LAST_CHUNK + inner,
})

/** Framings about whose end two servers could disagree. A server must reject all of them. */
export const FRAMINGS: readonly Framing[] = [
  chunked('a length and chunks', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked'),
  chunked('chunks and a length', 'Transfer-Encoding: chunked', 'Content-Length: WHOLE'),
  chunked('chunks, spelt wrong', 'Content-Length: WHOLE', 'Transfer-Encoding: xchunked'),
  chunked('chunks of chunks', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, chunked'),
  chunked('chunks and then not', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, identity'),
  chunked('chunks under two headers', 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked'),
  chunked('chunks behind a control', 'Content-Length: WHOLE', 'Transfer-Encoding: \x0bchunked'),
  chunked('chunks in quotes', 'Content-Length: WHOLE', 'Transfer-Encoding: "chunked"'),
  chunked('a blank before the colon', 'Content-Length: WHOLE', 'Transfer-Encoding : chunked'),
  chunked('a folded header', 'Content-Length: WHOLE', 'X: x', ' Transfer-Encoding: chunked'),
  chunked('NUL in a header', 'Content-Length: WHOLE', 'X: \0', 'Transfer-Encoding: chunked'),
  chunked('CR in a header', 'Content-Length: WHOLE', 'X: a\rTransfer-Encoding: chunked'),
  lengths('two lengths', () => '4', String),
  lengths('two lengths, the long one first', String, () => '4'),
  lengths('a length with a sign', () => '+4'),
  lengths('a hexadecimal length', () => '0x4'),
  lengths('a list of lengths', (whole) => `4, ${whole}`),
  lengths('a negative length', () => '-4'),
  lengths('a length with a blank in it', () => '4 4'),
  lengths('a length with a fraction', () => '4.0'),
  lengths('a length past all numbers', () => '99999999999999999999'),
  {
    why: 'a chunk longer than numbers go',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `FFFFFFFFFFFFFFFFF\r\n${FOUR}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    why: 'a chunk with a sign',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `+4\r\n${FOUR}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    why: 'a chunk that is longer than it says',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `2\r\n${FOUR}\r\n${LAST_CHUNK}${inner}`,
  },
]

/** Builds a request whose body hides another one. */
export const framed = ({ headers, body }: Framing, host: string, line: string, inner: string) =>
  request(line, host, headers(inner), body(inner))

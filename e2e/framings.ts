import { request } from './converse.ts'

/** A body of four bytes for one reader and, for another, a body with a whole request in it. */
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

/** Where two readers could disagree about where a request ends. None of them may be guessed at. */
export const FRAMINGS: readonly Framing[] = [
  chunked('N-125 a length and chunks', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked'),
  chunked('N-125 chunks and a length', 'Transfer-Encoding: chunked', 'Content-Length: WHOLE'),
  chunked('N-125 chunks, spelt wrong', 'Content-Length: WHOLE', 'Transfer-Encoding: xchunked'),
  chunked('N-125 chunks of chunks', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, chunked'),
  chunked('N-125 chunks and then not', 'Content-Length: WHOLE', 'Transfer-Encoding: chunked, identity'),
  chunked('N-125 chunks under two headers', 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked'),
  chunked('N-125 chunks behind a control', 'Content-Length: WHOLE', 'Transfer-Encoding: \x0bchunked'),
  chunked('N-125 chunks in quotes', 'Content-Length: WHOLE', 'Transfer-Encoding: "chunked"'),
  chunked('N-126 a blank before the colon', 'Content-Length: WHOLE', 'Transfer-Encoding : chunked'),
  chunked('N-126 a folded header', 'Content-Length: WHOLE', 'X: x', ' Transfer-Encoding: chunked'),
  chunked('N-126 NUL in a header', 'Content-Length: WHOLE', 'X: \0', 'Transfer-Encoding: chunked'),
  chunked('N-126 CR in a header', 'Content-Length: WHOLE', 'X: a\rTransfer-Encoding: chunked'),
  lengths('N-125 two lengths', () => '4', String),
  lengths('N-125 two lengths, the long one first', String, () => '4'),
  lengths('N-125 a length with a sign', () => '+4'),
  lengths('N-125 a hexadecimal length', () => '0x4'),
  lengths('N-125 a list of lengths', (whole) => `4, ${whole}`),
  lengths('N-125 a negative length', () => '-4'),
  lengths('N-125 a length with a blank in it', () => '4 4'),
  lengths('N-125 a length with a fraction', () => '4.0'),
  lengths('N-125 a length past all numbers', () => '99999999999999999999'),
  {
    why: 'N-126 a chunk longer than numbers go',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `FFFFFFFFFFFFFFFFF\r\n${FOUR}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    why: 'N-126 a chunk with a sign',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `+4\r\n${FOUR}\r\n${LAST_CHUNK}${inner}`,
  },
  {
    why: 'N-126 a chunk that is longer than it says',
    headers: () => ['Transfer-Encoding: chunked'],
    body: (inner) => `2\r\n${FOUR}\r\n${LAST_CHUNK}${inner}`,
  },
]

/** A request whose body hides another one. */
export const framed = ({ headers, body }: Framing, host: string, line: string, inner: string) =>
  request(line, host, headers(inner), body(inner))

import { formatRequest } from './converse.ts'

/**
 * Headers and bytes after them for which two servers may find different ends of the body. A server that ends the body
 * early treats `inner` as a second request. A server that ends the body late treats `inner` as a part of the body.
 */
export interface Framing {
  readonly name: string
  /** Each function receives the hidden request `inner`. */
  readonly headers: (inner: string) => readonly string[]
  readonly body: (inner: string) => string
}

const FOUR_BYTES = 'abcd'
const createLengthFraming = (name: string, ...formatters: ((totalLength: number) => string)[]): Framing => ({
  name,
  headers: (inner) =>
    formatters.map((format) => `Content-Length: ${format(FOUR_BYTES.length + inner.length)}`),
  body: (inner) => FOUR_BYTES + inner,
})
const formatLength = (totalLength: number) => String(totalLength)
const LAST_CHUNK = '0\r\n\r\n'
/** Stands for a `Content-Length` that covers the last chunk and `inner`. */
const WHOLE_LENGTH = 'Content-Length: WHOLE'
const createChunkFraming = (name: string, ...headers: string[]): Framing => ({
  name,
  headers: (inner) =>
    headers.map((header) =>
      header === WHOLE_LENGTH ? `Content-Length: ${LAST_CHUNK.length + inner.length}` : header,
    ),
  body: (inner) => LAST_CHUNK + inner,
})

/**
 * Invalid framings, and the two that combine valid chunks with a length. RFC 9112 §6.1 lets a server process those two
 * by their chunks. The RFCs also allow repairing three of the invalid ones: a folded header (RFC 9112 §5.2), a CR in a
 * header (§2.2) and NUL in a header (RFC 9110 §5.5). Even then, the hidden request must not be processed.
 */
export const FRAMINGS: readonly Framing[] = [
  createChunkFraming('a length and chunks', WHOLE_LENGTH, 'Transfer-Encoding: chunked'),
  createChunkFraming('chunks and a length', 'Transfer-Encoding: chunked', WHOLE_LENGTH),
  createChunkFraming('an unknown transfer coding', WHOLE_LENGTH, 'Transfer-Encoding: xchunked'),
  createChunkFraming('chunked twice', WHOLE_LENGTH, 'Transfer-Encoding: chunked, chunked'),
  createChunkFraming('chunked, identity', WHOLE_LENGTH, 'Transfer-Encoding: chunked, identity'),
  createChunkFraming('two transfer codings', 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked'),
  createChunkFraming('a vertical tab before chunked', WHOLE_LENGTH, 'Transfer-Encoding: \x0bchunked'),
  createChunkFraming('chunked in quotes', WHOLE_LENGTH, 'Transfer-Encoding: "chunked"'),
  createChunkFraming('a space before the colon', WHOLE_LENGTH, 'Transfer-Encoding : chunked'),
  createChunkFraming('a folded header', WHOLE_LENGTH, 'X: x', ' Transfer-Encoding: chunked'),
  createChunkFraming('NUL in a header', WHOLE_LENGTH, 'X: \0', 'Transfer-Encoding: chunked'),
  createChunkFraming('CR in a header', WHOLE_LENGTH, 'X: a\rTransfer-Encoding: chunked'),
  createLengthFraming('two lengths', () => '4', formatLength),
  createLengthFraming('two lengths, the long one first', formatLength, () => '4'),
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
export const formatFramedRequest = (
  { headers, body }: Framing,
  host: string,
  methodAndTarget: string,
  inner: string,
) => formatRequest(methodAndTarget, host, headers(inner), body(inner))

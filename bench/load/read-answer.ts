/** An answer that has arrived whole, or why it can never be read. */
export type ReadAnswer =
  | { readonly kind: 'partial' }
  | { readonly kind: 'whole'; readonly status: number; readonly closes: boolean }
  | { readonly kind: 'unreadable' }

const PARTIAL = { kind: 'partial' } as const
const UNREADABLE = { kind: 'unreadable' } as const
const END_OF_HEAD = Buffer.from('\r\n\r\n')

/**
 * Reads an HTTP/1.1 answer that names its length, which all that is measured here do. A client that did more would
 * measure itself.
 *
 * @param received from the first byte of the answer on
 */
export function readAnswer(received: Buffer): ReadAnswer {
  const end = received.indexOf(END_OF_HEAD)
  if (end < 0) return PARTIAL
  const head = received.toString('latin1', 0, end)
  const status = Number(head.slice(9, 12))
  if (!head.startsWith('HTTP/1.1 ') || !(status >= 200)) return UNREADABLE
  const length = status === 204 || status === 304 ? '0' : /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) return UNREADABLE
  const missing = end + END_OF_HEAD.length + Number(length) - received.length
  if (missing > 0) return PARTIAL
  if (missing < 0) return UNREADABLE
  return { kind: 'whole', status, closes: /\r\nconnection: close/i.test(head) }
}

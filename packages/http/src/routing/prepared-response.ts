import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'

/** A public answer that is made once and sent many times. */
export interface PreparedResponse {
  /** `Content-Type`, sent exactly so. */
  readonly type: string
  /** The forms that `Accept-Encoding` chooses among, the smallest first; the last is the plain one. */
  readonly forms: readonly PreparedForm[]
}

export interface PreparedForm {
  readonly coding: 'br' | 'gzip' | 'identity'
  readonly bytes: Buffer
  /** Each coding has a tag of its own, since a strong one stands for bytes (RFC 9110 §8.8.1). */
  readonly tag: string
}

/** A window that just holds the content: the default one, of 4 MB, costs ten to twenty times the time for the same bytes. */
function brotli(plain: Buffer): Buffer {
  const { BROTLI_MIN_WINDOW_BITS, BROTLI_MAX_WINDOW_BITS } = constants
  const bits = Math.max(BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(plain.length + 16)))
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: Math.min(BROTLI_MAX_WINDOW_BITS, bits),
    [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
  }
  return brotliCompressSync(plain, { params })
}

/** Makes the bytes, their compressed forms where those are smaller, and the tags. */
export function prepareResponse(type: string, content: string): PreparedResponse {
  const plain = Buffer.from(content)
  const tag = tagOf(plain)
  const compressed: PreparedForm[] = [
    { coding: 'br', bytes: brotli(plain), tag: `${tag}-br` },
    { coding: 'gzip', bytes: gzipSync(plain, { level: 9 }), tag: `${tag}-gz` },
  ]
  const smaller = compressed.filter(({ bytes }) => bytes.length < plain.length)
  return { type, forms: [...smaller, { coding: 'identity', bytes: plain, tag }] }
}

/** Prepares at the first request for each `key`; what is made lives as long as its key. */
export function prepareOnce<Key extends object>(
  make: (key: Key) => PreparedResponse,
): (key: Key) => PreparedResponse {
  const made = new WeakMap<Key, PreparedResponse>()
  return (key) => {
    const known = made.get(key) ?? make(key)
    made.set(key, known)
    return known
  }
}

/** The strong entity tag of a content, without its quotes. */
const tagOf = (content: string | Buffer) =>
  createHash('sha256').update(content).digest('base64url').slice(0, 22)

/** Clients send few different ones, and reading one takes longer than all else here. */
const MOST_REMEMBERED = 200
const CODINGS = new LRUCache<string, ReadonlySet<string>>({ max: 500 })

function acceptedCodings(ctx: Context): ReadonlySet<string> {
  const sent = ctx.get('accept-encoding')
  const known = CODINGS.get(sent)
  if (known) return known
  const read = new Set(['br', 'gzip'].filter((coding) => ctx.acceptsEncodings(coding) === coding))
  if (sent.length <= MOST_REMEMBERED) CODINGS.set(sent, read)
  return read
}

/** The form that is sent for an `Accept-Encoding` that was read before; else undefined. */
export function knownForm({ forms }: PreparedResponse, acceptEncoding = ''): PreparedForm | undefined {
  const accepted = CODINGS.get(acceptEncoding)
  return accepted && forms.find(({ coding }) => coding === 'identity' || accepted.has(coding))
}

/**
 * Puts the form that `Accept-Encoding` allows in the answer.
 *
 * @returns its tag
 */
export function setPreparedBody(ctx: Context, { forms }: PreparedResponse): string {
  const accepted = acceptedCodings(ctx)
  const form = forms.find(({ coding }) => coding === 'identity' || accepted.has(coding))
  if (!form) throw new Error('a prepared answer has no plain form')
  ctx.body = form.bytes
  if (form.coding !== 'identity') ctx.set('content-encoding', form.coding)
  return form.tag
}

/**
 * Lets anybody keep the answer for 300 s, under a strong ETag and with 304; what was asked for with credentials
 * is nobody else's. Call it when status and type are set.
 */
export function publicCaching(ctx: Context, content: string | Buffer): void {
  cachePublicly(ctx, tagOf(content))
}

export const VARIES = 'Accept, Accept-Encoding, Authorization'
export const CONDITIONS = ['if-none-match', 'if-modified-since']
/** What is asked for with credentials is nobody else's. */
export const cacheControl = (withCredentials: boolean) =>
  withCredentials ? 'private, no-store' : 'public, max-age=300'

/** @param tag the entity tag, without its quotes */
export function cachePublicly(ctx: Context, tag: string): void {
  if (ctx.res.hasHeader('vary')) ctx.vary(VARIES)
  else ctx.set('vary', VARIES)
  ctx.set('cache-control', cacheControl(ctx.get('authorization') !== ''))
  ctx.etag = tag
  // Koa copies all headers of the answer to see whether it is fresh, which only a conditional request asks.
  if (CONDITIONS.some((name) => ctx.req.headers[name] !== undefined) && ctx.fresh) {
    ctx.status = 304
    ctx.body = null
    ctx.remove('content-encoding')
  }
}

import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'

/** A public response that is created once and sent many times. */
export interface PreparedResponse {
  /** `Content-Type`, sent unchanged. */
  readonly type: string
  /** The content codings that `Accept-Encoding` chooses from, the smallest first; the last is uncompressed. */
  readonly forms: readonly PreparedForm[]
}

export interface PreparedForm {
  readonly coding: 'br' | 'gzip' | 'identity'
  readonly bytes: Buffer
  /** The strong entity tag, which differs between codings since it identifies bytes (RFC 9110 §8.8.1). */
  readonly tag: string
}

/** Compresses with a window just large enough. The default of 4 MB takes ten to twenty times as long for the same bytes. */
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

/** Creates the uncompressed form, the compressed forms that are smaller, and their tags. */
export function prepareResponse(type: string, content: string | Buffer): PreparedResponse {
  const plain = typeof content === 'string' ? Buffer.from(content) : content
  const tag = createTag(plain)
  const compressed: PreparedForm[] = [
    { coding: 'br', bytes: brotli(plain), tag: `${tag}-br` },
    { coding: 'gzip', bytes: gzipSync(plain, { level: 9 }), tag: `${tag}-gz` },
  ]
  const smaller = compressed.filter(({ bytes }) => bytes.length < plain.length)
  return { type, forms: [...smaller, { coding: 'identity', bytes: plain, tag }] }
}

/** Wraps `make` so that it runs once for each key; the response is garbage collected with its key. */
export function prepareOnce<Key extends object>(
  make: (key: Key) => PreparedResponse,
): (key: Key) => PreparedResponse {
  const responses = new WeakMap<Key, PreparedResponse>()
  return (key) => {
    const response = responses.get(key) ?? make(key)
    responses.set(key, response)
    return response
  }
}

/** Creates the strong entity tag of a content, without its quotes. */
const createTag = (content: string | Buffer) =>
  createHash('sha256').update(content).digest('base64url').slice(0, 22)

/** Parsed `Accept-Encoding` headers. Clients send few different ones, and parsing takes longer than the rest of this module. */
const CODINGS = new LRUCache<string, ReadonlySet<string>>({ max: 500 })
const LONGEST_CACHED = 200

function acceptedCodings(ctx: Context): ReadonlySet<string> {
  const sent = ctx.get('accept-encoding')
  const cached = CODINGS.get(sent)
  if (cached) return cached
  const accepted = new Set(['br', 'gzip'].filter((coding) => ctx.acceptsEncodings(coding) === coding))
  if (sent.length <= LONGEST_CACHED) CODINGS.set(sent, accepted)
  return accepted
}

/** Finds the form for an `Accept-Encoding` that was parsed before; undefined for any other. */
export function cachedForm({ forms }: PreparedResponse, acceptEncoding = ''): PreparedForm | undefined {
  const accepted = CODINGS.get(acceptEncoding)
  return accepted && forms.find(({ coding }) => coding === 'identity' || accepted.has(coding))
}

/**
 * Sets the body to the form that `Accept-Encoding` allows.
 *
 * @returns the tag of that form
 */
export function setPreparedBody(ctx: Context, { forms }: PreparedResponse): string {
  const accepted = acceptedCodings(ctx)
  const form = forms.find(({ coding }) => coding === 'identity' || accepted.has(coding))
  if (!form) throw new Error('a prepared response has no uncompressed form')
  ctx.body = form.bytes
  if (form.coding !== 'identity') ctx.set('content-encoding', form.coding)
  return form.tag
}

/**
 * Lets shared caches store the response for 300 s, sets a strong ETag and responds with 304 where it matches. A response to a
 * request with credentials stays private. Call it after status and type are set.
 */
export function publicCaching(ctx: Context, content: string | Buffer): void {
  cachePublicly(ctx, createTag(content))
}

export const VARIES = 'Accept, Accept-Encoding, Authorization'
export const CONDITIONS = ['if-none-match', 'if-modified-since']
/** The `Cache-Control` of a public response; private if the request had credentials. */
export const cacheControl = (withCredentials: boolean) =>
  withCredentials ? 'private, no-store' : 'public, max-age=300'

/** Does the work of {@link publicCaching}. @param tag the entity tag, without its quotes */
export function cachePublicly(ctx: Context, tag: string): void {
  if (ctx.res.hasHeader('vary')) ctx.vary(VARIES)
  else ctx.set('vary', VARIES)
  ctx.set('cache-control', cacheControl(ctx.get('authorization') !== ''))
  ctx.etag = tag
  // Checked first, since `ctx.fresh` copies all response headers and matters to conditional requests only.
  if (CONDITIONS.some((name) => ctx.req.headers[name] !== undefined) && ctx.fresh) {
    ctx.status = 304
    ctx.body = null
    ctx.remove('content-encoding')
  }
}

import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Context } from 'koa'
import { LRUCache } from 'lru-cache'

/** A public response that is created once and sent many times. */
export interface PreparedResponse {
  /** `Content-Type`, sent unchanged. */
  readonly type: string
  /**
   * The bodies in order of preference: Brotli and gzip, if they are smaller, then the uncompressed one, which is always
   * present.
   */
  readonly encodedBodies: readonly EncodedBody[]
}

export interface EncodedBody {
  readonly coding: 'br' | 'gzip' | 'identity'
  readonly bytes: Buffer
  /** The strong entity tag, without quotes. It identifies bytes, so it differs between codings (RFC 9110 §8.8.1). */
  readonly tag: string
}

/**
 * Compresses with a window that is just large enough: one of n bits holds 2^n - 16 bytes (RFC 7932). The default of 4 MB
 * takes over ten times as long.
 */
function compressBrotli(plain: Buffer): Buffer {
  const { BROTLI_MIN_WINDOW_BITS, BROTLI_MAX_WINDOW_BITS } = constants
  const bits = Math.max(BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(plain.length + 16)))
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: Math.min(BROTLI_MAX_WINDOW_BITS, bits),
    [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
  }
  return brotliCompressSync(plain, { params })
}

/** Encodes content for repeated use: uncompressed, and with each coding that makes it smaller. */
export function prepareResponse(type: string, content: string | Buffer): PreparedResponse {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const tag = createTag(bytes)
  const compressedBodies: EncodedBody[] = [
    { coding: 'br', bytes: compressBrotli(bytes), tag: `${tag}-br` },
    { coding: 'gzip', bytes: gzipSync(bytes, { level: 9 }), tag: `${tag}-gz` },
  ]
  const smallerBodies = compressedBodies.filter((body) => body.bytes.length < bytes.length)
  return { type, encodedBodies: [...smallerBodies, { coding: 'identity', bytes, tag }] }
}

/** Wraps `create` to run once per key. The response is garbage collected with its key. */
export function prepareOnce<Key extends object>(
  create: (key: Key) => PreparedResponse,
): (key: Key) => PreparedResponse {
  const responses = new WeakMap<Key, PreparedResponse>()
  return (key) => {
    const response = responses.get(key) ?? create(key)
    responses.set(key, response)
    return response
  }
}

/** Creates the strong entity tag of content, without quotes: 22 characters, or 132 bits, of its SHA-256. */
const createTag = (content: string | Buffer) =>
  createHash('sha256').update(content).digest('base64url').slice(0, 22)

/** Parsed `Accept-Encoding` headers. They are cached, because clients send few different ones, and parsing is slow. */
const CACHED_CODINGS = new LRUCache<string, ReadonlySet<string>>({ max: 500 })
/** A longer header is not cached, so it is parsed for each request. */
const MAX_CACHED_HEADER_LENGTH = 200

function parseAcceptedCodings(ctx: Context): ReadonlySet<string> {
  const header = ctx.get('accept-encoding')
  const cachedCodings = CACHED_CODINGS.get(header)
  if (cachedCodings) return cachedCodings
  const acceptedCodings = new Set(['br', 'gzip'].filter((coding) => ctx.acceptsEncodings(coding) === coding))
  if (header.length <= MAX_CACHED_HEADER_LENGTH) CACHED_CODINGS.set(header, acceptedCodings)
  return acceptedCodings
}

/** Finds the body for an `Accept-Encoding` that is in the cache of parsed headers; undefined for any other. */
export function findCachedBody(
  { encodedBodies }: PreparedResponse,
  acceptEncoding = '',
): EncodedBody | undefined {
  const acceptedCodings = CACHED_CODINGS.get(acceptEncoding)
  return acceptedCodings && findAcceptedBody(encodedBodies, acceptedCodings)
}

/**
 * Sets the first body that `Accept-Encoding` allows as the body of the response.
 *
 * @returns the entity tag of that body
 */
export function setPreparedBody(ctx: Context, { encodedBodies }: PreparedResponse): string {
  const body = findAcceptedBody(encodedBodies, parseAcceptedCodings(ctx))
  if (!body) throw new Error('a prepared response has no uncompressed body')
  ctx.body = body.bytes
  if (body.coding !== 'identity') ctx.set('content-encoding', body.coding)
  return body.tag
}

const findAcceptedBody = (bodies: readonly EncodedBody[], acceptedCodings: ReadonlySet<string>) =>
  bodies.find(({ coding }) => coding === 'identity' || acceptedCodings.has(coding))

/**
 * Lets shared caches store the response for 300 s, sets a strong ETag, and responds with 304 if the client has that
 * version. For a request with credentials, it forbids storing the response. Call this after setting the status, type
 * and body.
 */
export function allowPublicCaching(ctx: Context, content: string | Buffer): void {
  allowPublicCachingWithTag(ctx, createTag(content))
}

export const VARY_HEADERS = 'Accept, Accept-Encoding, Authorization'
export const CONDITIONAL_HEADERS = ['if-none-match', 'if-modified-since']
/** Returns the `Cache-Control` of a public response. For a request with credentials, it forbids storing the response. */
export const getCacheControl = (hasCredentials: boolean) =>
  hasCredentials ? 'private, no-store' : 'public, max-age=300'

/** Does the same as {@link allowPublicCaching}, with an entity tag that the caller has, without quotes. */
export function allowPublicCachingWithTag(ctx: Context, tag: string): void {
  if (ctx.res.hasHeader('vary')) ctx.vary(VARY_HEADERS)
  else ctx.set('vary', VARY_HEADERS)
  ctx.set('cache-control', getCacheControl(ctx.get('authorization') !== ''))
  ctx.etag = tag
  // `ctx.fresh` copies all response headers, so it is called only for conditional requests.
  if (CONDITIONAL_HEADERS.some((name) => ctx.req.headers[name] !== undefined) && ctx.fresh) {
    ctx.status = 304
    ctx.body = null
    ctx.remove('content-encoding')
  }
}

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import type { Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import { Problem } from '../problems/problem.ts'
import { limitChunkedBodies } from './limit-chunked-bodies.ts'
import { JsonError, parseJson } from './parse-json.ts'
import { findHeaders } from './request-context.ts'

/** A message may have 5,000 characters, each of which JSON escapes and the percent-encoding of a form write as up to 12 bytes. */
const BODY_LIMIT_BYTES = 64 * 1024
const MAX_FORM_FIELDS = 32

const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/**
 * The options of koa-bodyparser, which reads the body up to a limit. `binary` preserves the bytes, which we decode and
 * parse strictly. `encoding` is passed on to co-body, although it is missing from the types.
 */
const PARSER_OPTIONS: bodyParser.Options & { encoding: 'binary' } = {
  enableTypes: ['text'],
  extendTypes: { text: [JSON_TYPE, FORM_TYPE] },
  textLimit: String(BODY_LIMIT_BYTES),
  encoding: 'binary',
  onerror: (error) => {
    const { status, type } = error as { status?: number; type?: string }
    if (status === 413) throw new BodyTooLargeError()
    if (type === 'request.aborted')
      throw new Problem('invalid-request', { detail: 'The body ended too early.' })
    throw new Problem('invalid-request', { detail: 'The body could not be read.', cause: error })
  },
}
const readBytes = bodyParser(PARSER_OPTIONS)

class BodyTooLargeError extends Error {}

/** How long the rest of a body that is too large is read and discarded. */
const LINGER_MS = 500

const hasBody = (ctx: Context) =>
  ctx.req.headers['transfer-encoding'] !== undefined || (ctx.request.length ?? 0) > 0

/**
 * Reads a body of the given media type as text. Returns undefined without a body.
 *
 * @param hint a sentence for the 415 response that names the type to send; may be empty
 * @throws {Problem} 413 over 64 KiB; 415 for another type, several types, a charset that is not UTF-8, or any
 *   Content-Encoding; 400 for a body that is not UTF-8 or ends too early; 429 while too many chunked bodies are being read
 */
async function readText(ctx: Context, type: string, hint: string): Promise<string | undefined> {
  if (!hasBody(ctx)) return undefined
  if (ctx.get('content-encoding'))
    throw new Problem('unsupported-media-type', { detail: 'Send the body without Content-Encoding.' })
  const createTypeProblem = () =>
    new Problem('unsupported-media-type', { detail: `Send Content-Type: ${type} in UTF-8. ${hint}`.trim() })
  if (!isOfType(ctx, type)) throw createTypeProblem()
  await limitChunkedBodies(ctx, () => readBounded(ctx))
  const { rawBody } = ctx.request
  // For a media type that it cannot parse, the parser reads nothing and throws nothing.
  if (typeof rawBody !== 'string') throw createTypeProblem()
  const bytes = Buffer.from(rawBody, 'latin1')
  if (!isUtf8(bytes)) throw new Problem('invalid-request', { detail: 'The body is not valid UTF-8.' })
  // A body that was announced as chunked may be empty.
  return bytes.toString('utf8') || undefined
}

async function readBounded(ctx: Context): Promise<void> {
  try {
    if ((ctx.request.length ?? 0) > BODY_LIMIT_BYTES) throw new BodyTooLargeError()
    await readBytes(ctx, async () => {})
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error
    // Set before the rest is read: if the rest is malformed, this status tells `refuseUnreadable` to send no response of its own.
    ctx.status = 413
    await discardRest(ctx.req)
    throw new Problem('content-too-large')
  }
}

/** Discards the rest of a body. Otherwise, a client that sends everything before it reads would get a reset. */
async function discardRest(request: IncomingMessage): Promise<void> {
  const { promise: endOrTimeout, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, LINGER_MS)
  request.once('end', resolve).once('close', resolve).resume()
  await endOrTimeout
  clearTimeout(timer)
}

function isOfType(ctx: Context, type: string): boolean {
  const [contentType, ...duplicates] = findHeaders(ctx.req, 'content-type')
  if (contentType === undefined || duplicates.length > 0) return false
  if (contentType === type) return true
  const parsed = parseMediaType(contentType)
  const charset = parsed?.params.get('charset')?.toLowerCase() ?? 'utf-8'
  return parsed?.essence === type && (charset === 'utf-8' || charset === 'utf8')
}

function parseMediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text)
  } catch {
    return undefined
  }
}

/**
 * Reads a JSON body. Returns undefined without a body.
 *
 * @throws {Problem} 400, 413, 415 or 429
 */
export async function readJson(ctx: Context): Promise<unknown> {
  const text = await readText(ctx, JSON_TYPE, '')
  if (text === undefined) return undefined
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError)
      throw new Problem('invalid-request', { detail: `${error.message} Send one JSON object.` })
    throw error
  }
}

/**
 * Reads a form body. Returns an empty form without a body. Retains repeated fields, which the OAuth endpoints refuse
 * later (RFC 6749 §3.2).
 *
 * @param hint a sentence for the 415 response that names the type to send
 * @throws {Problem} 400, 413, 415 or 429
 */
export async function readForm(ctx: Context, hint: string): Promise<URLSearchParams> {
  const text = (await readText(ctx, FORM_TYPE, hint)) ?? ''
  const form = new URLSearchParams(text)
  if (form.size > MAX_FORM_FIELDS)
    throw new Problem('invalid-request', { detail: `Send at most ${MAX_FORM_FIELDS} fields.` })
  return form
}

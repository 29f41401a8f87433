import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import type { Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import { headersNamed } from './headers-named.ts'
import { JsonError, parseJson } from './parse-json.ts'
import { Problem } from './problem.ts'

const BODY_LIMIT_BYTES = 16 * 1024
const MAX_FORM_FIELDS = 32

const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/**
 * koa-bodyparser reads and bounds; `binary` keeps the bytes, so that we decode and parse them strictly. Its types
 * do not know `encoding`, which it hands on to co-body.
 */
const reading: bodyParser.Options & { encoding: 'binary' } = {
  enableTypes: ['text'],
  extendTypes: { text: [JSON_TYPE, FORM_TYPE] },
  textLimit: String(BODY_LIMIT_BYTES),
  encoding: 'binary',
  onerror: (error) => {
    const { status, type } = error as { status?: number; type?: string }
    if (status === 413) throw new TooLarge()
    if (type === 'request.aborted')
      throw new Problem('invalid-request', { detail: 'The body ended too early.' })
    throw new Problem('invalid-request', { detail: 'The body could not be read.', cause: error })
  },
}
const readBytes = bodyParser(reading)

class TooLarge extends Error {}

/** How long a body that is too large is read and forgotten. */
const LINGER_MS = 500

const hasBody = (ctx: Context) =>
  ctx.req.headers['transfer-encoding'] !== undefined || (ctx.request.length ?? 0) > 0

/**
 * The text of a body of the given media type; undefined when there is none.
 *
 * @throws {Problem} 413 over 16 KiB; 415 for another type, several types, a charset that is not UTF-8, or any
 *   Content-Encoding; 400 for bytes that are not UTF-8 or that end too early
 */
async function readText(ctx: Context, type: string, hint: string): Promise<string | undefined> {
  if (!hasBody(ctx)) return undefined
  if (ctx.get('content-encoding'))
    throw new Problem('unsupported-media-type', { detail: 'Send the body without Content-Encoding.' })
  const wrongType = () =>
    new Problem('unsupported-media-type', { detail: `Send Content-Type: ${type} in UTF-8. ${hint}`.trim() })
  if (!isOfType(ctx, type)) throw wrongType()
  await readBounded(ctx)
  const { rawBody } = ctx.request
  // The parser reads nothing, and says nothing, when it cannot parse a media type that we could.
  if (typeof rawBody !== 'string') throw wrongType()
  const bytes = Buffer.from(rawBody, 'latin1')
  if (!isUtf8(bytes)) throw new Problem('invalid-request', { detail: 'The body is not valid UTF-8.' })
  return bytes.toString('utf8') || undefined
}

async function readBounded(ctx: Context): Promise<void> {
  try {
    if ((ctx.request.length ?? 0) > BODY_LIMIT_BYTES) throw new TooLarge()
    await readBytes(ctx, async () => {})
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    ctx.status = 413
    await forgetRest(ctx.req)
    throw new Problem('content-too-large')
  }
}

/** Else a client that sends before it reads would find the connection reset, and no answer. */
async function forgetRest(request: IncomingMessage): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, LINGER_MS)
  request.once('end', resolve).once('close', resolve).resume()
  await over
  clearTimeout(timer)
}

function isOfType(ctx: Context, type: string): boolean {
  const [sent, ...others] = headersNamed(ctx.req, 'content-type')
  if (sent === undefined || others.length > 0) return false
  if (sent === type) return true
  const parsed = mediaType(sent)
  const charset = parsed?.params.get('charset')?.toLowerCase() ?? 'utf-8'
  return parsed?.essence === type && (charset === 'utf-8' || charset === 'utf8')
}

function mediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text)
  } catch {
    return undefined
  }
}

/**
 * A JSON body; undefined when there is none.
 *
 * @throws {Problem} 400, 413 or 415
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
 * A form body (OAuth endpoints); empty when there is none. A form that names a field twice keeps both: RFC 6749
 * §3.2 refuses it later.
 *
 * @param hint said with a 415: the line to send instead
 * @throws {Problem} 400, 413 or 415
 */
export async function readForm(ctx: Context, hint: string): Promise<URLSearchParams> {
  const text = (await readText(ctx, FORM_TYPE, hint)) ?? ''
  const form = new URLSearchParams(text)
  if (form.size > MAX_FORM_FIELDS)
    throw new Problem('invalid-request', { detail: `Send at most ${MAX_FORM_FIELDS} fields.` })
  return form
}

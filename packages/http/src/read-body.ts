import type { Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import { JsonError, parseJson } from './parse-json.ts'
import { Problem } from './problem.ts'

export const BODY_LIMIT_BYTES = 16 * 1024
const MAX_FORM_FIELDS = 32

const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** koa-bodyparser reads and bounds; `binary` keeps the bytes, so that we decode and parse them strictly. */
const reading = {
  enableTypes: ['text'],
  extendTypes: { text: [JSON_TYPE, FORM_TYPE] },
  textLimit: String(BODY_LIMIT_BYTES),
  encoding: 'binary',
  onerror: (error: Error) => {
    const { status, type } = error as { status?: number; type?: string }
    if (status === 413) throw new Problem('content-too-large')
    if (type === 'request.aborted')
      throw new Problem('invalid-request', { detail: 'The body ended too early.' })
    throw new Problem('invalid-request', { detail: 'The body could not be read.', cause: error })
  },
}
const readBytes = bodyParser(reading)

const hasBody = (ctx: Context) =>
  ctx.req.headers['transfer-encoding'] !== undefined || (ctx.request.length ?? 0) > 0

/**
 * The bytes of a body of the given media type; undefined when there is none.
 *
 * @throws {Problem} 413 over 16 KiB; 415 for another type, a charset that is not UTF-8, or any Content-Encoding;
 *   400 for bytes that are not UTF-8
 */
async function readText(ctx: Context, type: string, hint: string): Promise<string | undefined> {
  if (!hasBody(ctx)) return undefined
  if (ctx.get('content-encoding'))
    throw new Problem('unsupported-media-type', { detail: 'Send the body without Content-Encoding.' })
  const [sent = '', ...parameters] = ctx
    .get('content-type')
    .split(';')
    .map((part) => part.trim().toLowerCase())
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '')
  if (sent !== type || (charset ?? 'utf-8').replace('utf8', 'utf-8') !== 'utf-8') {
    throw new Problem('unsupported-media-type', {
      detail: `Send Content-Type: ${type} in UTF-8. ${hint}`.trim(),
    })
  }
  if ((ctx.request.length ?? 0) > BODY_LIMIT_BYTES) throw new Problem('content-too-large')
  await readBytes(ctx as never, async () => {})
  const bytes = Buffer.from(String(ctx.request.rawBody ?? ''), 'latin1')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) || undefined
  } catch {
    throw new Problem('invalid-request', { detail: 'The body is not valid UTF-8.' })
  }
}

/** A JSON body; undefined when there is none. */
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
 * A form body (OAuth endpoints). A form that names a field twice keeps both: RFC 6749 §3.2 refuses it later.
 *
 * @param hint said with a 415: the line to send instead
 */
export async function readForm(ctx: Context, hint: string): Promise<URLSearchParams> {
  const text = (await readText(ctx, FORM_TYPE, hint)) ?? ''
  const form = new URLSearchParams(text)
  if (form.size > MAX_FORM_FIELDS)
    throw new Problem('invalid-request', { detail: `Send at most ${MAX_FORM_FIELDS} fields.` })
  return form
}

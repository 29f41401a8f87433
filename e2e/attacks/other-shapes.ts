import fc from 'fast-check'
import type { HttpRequest } from '../send.ts'
import { anyHeaderValue, anyText } from './wrong-values.ts'

type RequestChange = (request: HttpRequest) => HttpRequest

/** Generates changes that make JSON invalid, or that make parsers disagree on its meaning. */
export const anyJsonDamage: fc.Arbitrary<(text: string) => string | Uint8Array> = fc.oneof(
  fc.constantFrom<(text: string) => string | Uint8Array>(
    (text) => text.replace('{', '{"email":"twice@example.org","client_name":"twice",'),
    (text) => text.replace('{', '{"\\u0065mail":"twice@example.org",'),
    (text) => text.replace('{', '{"__proto__":{"admin":true},'),
    (text) => `${text}${text}`,
    (text) => `${text} // comment`,
    (text) => text.replace('}', ',}'),
    (text) => text.replaceAll('"', "'"),
    (text) => `\ufeff${text}`,
    // The prefix with which some services protect JSON from being run as a script.
    (text) => `)]}'\n${text}`,
    (text) => Buffer.from(text, 'utf16le'),
    (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xff])]),
    // Puts NUL before the last quotation mark.
    (text) => text.replace(/"(?=[^"]*$)/, '\u0000"'),
    (text) => text.replace('{', '{"n":1e400,'),
    (text) => text.replace('{', '{"n":-0,'),
    (text) => text.replace('{', '{"n":01,'),
    (text) => text.replace('{', '{"n":.5,'),
    (text) => text.replace('{', '{"n":0x10,'),
  ),
  fc.nat(60).map((length) => (text: string) => text.slice(0, length)),
  fc.tuple(fc.nat(60), fc.nat(255)).map(([index, byte]) => (text: string) => {
    const bytes = Buffer.from(text)
    bytes[index % bytes.length] = byte
    return bytes
  }),
  fc.string({ unit: 'binary', maxLength: 60 }).map((garbage) => () => garbage),
)

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE', 'PURGE']
const HEADERS = [
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'access-control-request-method',
  'connection',
  'content-encoding',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'origin',
  'range',
  'referer',
  'sec-fetch-site',
  'te',
  'traceparent',
  'user-agent',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-http-method-override',
  'x-original-url',
  'x-request-id',
  'x-rewrite-url',
  '__proto__',
]
/** Values that have a meaning in some of these headers. */
const MEANINGFUL_HEADER_VALUES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/json, text/plain',
  'gzip',
  'identity',
  'cross-site',
  'null',
  'https://evil.example',
  'evil.example',
  'bytes=0-1',
  'W/"x", *',
  '127.0.0.1, 10.0.0.1',
  'DELETE',
  '/api/agent',
]

/** Encodes blanks, control characters and characters beyond ASCII, which a path must not contain. */
const encodeUnprintable = (text: string) =>
  text.replaceAll(/[^\x21-\x7e]/g, (char) => encodeURI(char.toWellFormed()))

const PATH_CHANGES: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => `/.${path}`,
  (path) => `/x/..${path}`,
  (path) => path.toUpperCase(),
  (path) => path.replace('a', '%61'),
  (path) => path.replace('/api', '/%2fapi'),
  (path) => `${path};x=1`,
  (path) => `${path}%00`,
  (path) => `${path}%zz`,
  (path) => `${path}.json`,
  (path) => `${path}/x.css`,
  (path) => `${path}%2f`,
  (path) => `${path}?`,
  (path) => `${path}#x`,
  (path) => `${path}?access_token=x`,
  (path) => path.slice(0, -1),
  (path) => `http://evil.example${path}`,
]

/** Generates changes to the method, a header, the path or the query of a request. */
export const anyRequestChange: fc.Arbitrary<RequestChange> = fc.oneof(
  fc.constantFrom(...METHODS).map(
    (method): RequestChange =>
      (request) =>
        changeMethod(request, method),
  ),
  fc
    .tuple(
      fc.constantFrom(...HEADERS),
      fc.oneof(anyHeaderValue, fc.constantFrom(...MEANINGFUL_HEADER_VALUES)),
      fc.integer({ min: 1, max: 2 }),
    )
    .map(
      ([name, value, times]): RequestChange =>
        (request) => ({
          ...request,
          // Node refuses to send several values of `host`.
          headers: { ...request.headers, [name]: times === 1 || name === 'host' ? value : [value, value] },
        }),
    ),
  fc.constantFrom(...PATH_CHANGES).map(
    (change): RequestChange =>
      (request) => ({ ...request, path: change(request.path) }),
  ),
  anyText.map(
    (text): RequestChange =>
      (request) => ({ ...request, path: `${request.path}${encodeUnprintable(text)}` }),
  ),
  fc
    .array(
      fc.tuple(fc.constantFrom('limit', 'cursor', 'q', 'fields', 'x', 'limit[]', '__proto__'), anyText),
      { maxLength: 4 },
    )
    .map(
      (query): RequestChange =>
        (request) => ({
          ...request,
          path: `${request.path}?${query.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&')}`,
        }),
    ),
)

/** Changes the method. Removes the body for methods with which Node sends none, to keep the connection in sync. */
function changeMethod(request: HttpRequest, method: string): HttpRequest {
  const { body, ...requestWithoutBody } = request
  return method === 'GET' || method === 'HEAD' || method === 'TRACE' || body === undefined
    ? { ...requestWithoutBody, method }
    : { ...request, method }
}

/** Creates a generator of Authorization headers that must be rejected. */
export const createWrongCredentials = (agent: {
  client_id: string
  client_secret: string
}): fc.Arbitrary<string> => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const credentials = `${agent.client_id}:${agent.client_secret}`
  return fc.oneof(
    fc.constantFrom(
      `Basic ${base64(credentials).slice(0, -3)}`,
      `Basic ${base64(credentials.slice(0, -1))}`,
      `Basic ${base64(`${credentials}x`)}`,
      `Basic ${base64(credentials.toUpperCase())}`,
      `Basic ${base64(`${credentials}\0`)}`,
      `Basic ${base64(agent.client_id)}`,
      `Basic ${base64(`${agent.client_id}:`)}`,
      `Basic ${base64(`:${agent.client_secret}`)}`,
      `Basic ${base64(`%:${agent.client_secret}`)}`,
      `Basic  ${credentials}`,
      `Bearer ${agent.client_secret}`,
      `Digest username="${agent.client_id}"`,
      `Basic ${base64(credentials)}, Basic ${base64(credentials)}`,
      `Basic ${base64(credentials)} x`,
      `BasicX ${base64(credentials)}`,
      `Basic "${base64(credentials)}"`,
      'Basic',
      'Basic ',
      ',',
    ),
    anyText.map((text) => `Basic ${base64(text.toWellFormed())}`),
    anyText.map((text) => `Basic ${base64(`${agent.client_id}:${text.toWellFormed()}`)}`),
    anyText.map((text) => `Basic ${base64(`${text.toWellFormed()}:${agent.client_secret}`)}`),
    anyHeaderValue.filter((value) => value !== ''),
  )
}

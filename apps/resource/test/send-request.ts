import { type OutgoingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expectSafeResponse } from '@plainpath/http/testing'
import { expect } from 'vitest'

export interface HttpResponse {
  readonly status: number
  /** The headers by lower-case name. The values of a repeated header are joined with commas. */
  readonly headers: Record<string, string>
  readonly body: string
  /** Parses the body. Throws if it is not JSON. */
  json(): Record<string, unknown>
}

export interface HttpRequest {
  method?: string
  /** Sent as it is: nothing normalises it. */
  path: string
  /** A list sends the header several times, and an undefined value omits it. The default `host` is that of the URL. */
  headers?: OutgoingHttpHeaders
  /** Alternating names and values. If set, they are sent instead of `headers`. */
  rawHeaders?: readonly string[]
  body?: string | Uint8Array
}

/** Sends a request with any Host, path and headers, which `fetch` would not allow. */
export async function sendRequest(origin: string, outgoing: HttpRequest): Promise<HttpResponse> {
  const { hostname, port, host } = new URL(origin)
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>()
  const clientRequest = request({
    hostname,
    port,
    method: outgoing.method ?? 'GET',
    path: outgoing.path,
    headers: outgoing.rawHeaders ?? omitUndefined({ host, ...outgoing.headers }),
    setHost: false,
    agent: false,
  })
  clientRequest.on('error', reject)
  clientRequest.on('response', (response) => {
    const headers = Object.fromEntries(
      Object.entries(response.headersDistinct).map(([name, values]) => [name, values?.join(', ') ?? '']),
    )
    text(response).then(
      (body) => resolve({ status: response.statusCode ?? 0, headers, body, json: () => JSON.parse(body) }),
      reject,
    )
  })
  clientRequest.end(outgoing.body)
  return promise
}

const omitUndefined = (headers: OutgoingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))

/** Creates a POST request without its path. A string or bytes are sent as they are, any other body as JSON. */
export function createPost(body: unknown, headers: OutgoingHttpHeaders = {}): Omit<HttpRequest, 'path'> {
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(raw), ...headers },
    body: raw,
  }
}

/** Formats a value as JSON in ASCII, as `json.dumps` of Python does: a character needs up to 12 bytes. */
export const toAsciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Expects a problem with this status and code, and what every problem has: a type URL, a detail and safe headers. */
export function expectProblem(response: HttpResponse, expected: { status: number; code: string }): void {
  const { status, headers, body } = response
  expect(status, body).toBe(expected.status)
  expectSafeResponse(
    { status, headers: new Headers(headers), text: body },
    { errorFormat: 'problem', allowedFailureStatus: expected.status },
  )
  expect(response.json()).toMatchObject({
    type: expect.stringMatching(new RegExp(`^https?://[^/]+/problems/${expected.code}$`)),
    detail: expect.stringMatching(/^[^\n]+\.$/),
    ...expected,
  })
}

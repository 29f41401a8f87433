import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { HOST } from '../load/target.ts'

export interface HttpResponse {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** Sends one request that is not measured. */
export async function sendRequest(
  port: number,
  path: string,
  options: { method?: string; headers?: Readonly<Record<string, string>>; body?: string } = {},
): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const clientRequest = request({
    port,
    host: '127.0.0.1',
    path,
    method: options.method ?? 'GET',
    headers: { host: HOST, ...options.headers },
  })
  clientRequest.on('response', resolve).on('error', reject).end(options.body)
  const response = await promise
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}

const MAX_ATTEMPTS = 40
const PAUSE_MS = 250

/**
 * Sends a request, and repeats it while the response is 503, as during the start of a server. Returns the parsed JSON body.
 *
 * @throws {Error} for another status of 300 or above, or after 40 attempts (about 10 s)
 */
export async function sendUntilServed(...args: Parameters<typeof sendRequest>): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    const { status, body } = await sendRequest(...args)
    if (status < 300) return JSON.parse(body.toString())
    if (status !== 503 || attempt === MAX_ATTEMPTS) throw new Error(`${args[1]} responded ${status}`)
    await sleep(PAUSE_MS)
  }
}

/** The headers of measured reads. */
export const READ_HEADERS = { accept: 'application/json', 'accept-encoding': 'gzip, deflate, br' }
export const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' }

/** Creates the header of HTTP Basic authentication. */
export const basicAuthorization = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

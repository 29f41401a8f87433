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
  const sent = request({
    port,
    host: '127.0.0.1',
    path,
    method: options.method ?? 'GET',
    headers: { host: HOST, ...options.headers },
  })
  sent.on('response', resolve).on('error', reject).end(options.body)
  const response = await promise
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}

const TRIES = 40
const PAUSE_MS = 250

/**
 * Sends a request, and repeats it while the response is 503, as during the start of a server. Returns the body.
 *
 * @throws {Error} for another status, or after 10 s
 */
export async function sendUntilServed(...asking: Parameters<typeof sendRequest>): Promise<unknown> {
  for (let tried = 1; ; tried += 1) {
    const { status, body } = await sendRequest(...asking)
    if (status < 300) return JSON.parse(body.toString())
    if (status !== 503 || tried === TRIES) throw new Error(`${asking[1]} is answered ${status}`)
    await sleep(PAUSE_MS)
  }
}

/** The headers of every read. */
export const READING = { accept: 'application/json', 'accept-encoding': 'gzip, deflate, br' }
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Context } from 'koa'

/** A response that the API sent for a path before the run, and that some baselines repeat. */
interface RecordedResponse {
  /** The Content-Type. */
  readonly type: string
  /** The Content-Encoding, such as `gzip`; empty without one. */
  readonly encoding: string
  readonly body: Buffer
}

/** Reads recorded responses. @param file JSON: for each path `{type, encoding, body}`, with the body in base64 */
export function readResponses(file: string): ReadonlyMap<string, RecordedResponse> {
  const encodedResponses = JSON.parse(readFileSync(file, 'utf8')) as Record<
    string,
    Record<keyof RecordedResponse, string>
  >
  return new Map(
    Object.entries(encodedResponses).map(([path, response]) => [
      path,
      { ...response, body: Buffer.from(response.body, 'base64') },
    ]),
  )
}

/** Reads an environment variable. @throws {Error} if it is missing or empty */
export function readSetting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is missing`)
  return value
}

/** Listens on the port in `BENCH_PORT`, and then prints the line in the constant `READY`. */
export function listen(server: Pick<Server, 'listen'>): void {
  server.listen(Number(readSetting('BENCH_PORT')), '127.0.0.1', () => console.log(READY))
}

/** The line by which a started process says that it can be measured. */
export const READY = 'listening'

/** Sends the recorded response for the path of a Koa request. If there is none, the status stays 404. */
export function respond(ctx: Context, responses: ReadonlyMap<string, RecordedResponse>): void {
  const response = responses.get(ctx.path)
  if (!response) return
  ctx.type = response.type
  if (response.encoding) ctx.set('content-encoding', response.encoding)
  ctx.body = response.body
}

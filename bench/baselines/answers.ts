import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Context } from 'koa'

/** The responses of the baselines: the bytes that the API sent for the path, captured before the run. */
interface Answer {
  readonly type: string
  readonly encoding: string
  readonly body: Buffer
}

/** Reads captured responses. @param file JSON: for each path `{type, encoding, body}`, the body in base64 */
export function readAnswers(file: string): ReadonlyMap<string, Answer> {
  const answers = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<keyof Answer, string>>
  return new Map(
    Object.entries(answers).map(([path, answer]) => [
      path,
      { ...answer, body: Buffer.from(answer.body, 'base64') },
    ]),
  )
}

/** Reads a setting of a baseline. @throws {Error} when it is missing */
export function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is missing`)
  return value
}

/** Listens at the port of the bench, and then prints `READY`. */
export function listen(server: Pick<Server, 'listen'>): void {
  server.listen(Number(setting('BENCH_PORT')), '127.0.0.1', () => console.log(READY))
}

export const READY = 'listening'

/** Responds to a request of Koa with the captured response for its path; 404 for any other path. */
export function respond(ctx: Context, answers: ReadonlyMap<string, Answer>): void {
  const answer = answers.get(ctx.path)
  if (!answer) return
  ctx.type = answer.type
  if (answer.encoding) ctx.set('content-encoding', answer.encoding)
  ctx.body = answer.body
}

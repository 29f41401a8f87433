import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Context } from 'koa'

/** What the baselines answer: the very bytes that the API answered for the path, captured before the run. */
interface Answer {
  readonly type: string
  readonly encoding: string
  readonly body: Buffer
}

/** @param file JSON: for each path `{type, encoding, body}`, the body in base64 */
export function readAnswers(file: string): ReadonlyMap<string, Answer> {
  const answers = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<keyof Answer, string>>
  return new Map(
    Object.entries(answers).map(([path, answer]) => [
      path,
      { ...answer, body: Buffer.from(answer.body, 'base64') },
    ]),
  )
}

/** A setting of a baseline. @throws when it is missing */
export function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is missing`)
  return value
}

/** Listens at the port that the bench names, and prints `READY` then. */
export function listen(server: Pick<Server, 'listen'>): void {
  server.listen(Number(setting('BENCH_PORT')), '127.0.0.1', () => console.log(READY))
}

export const READY = 'listening'

/** Answers a request of Koa with what was captured for its path; 404 for any other. */
export function respond(ctx: Context, answers: ReadonlyMap<string, Answer>): void {
  const answer = answers.get(ctx.path)
  if (!answer) return
  ctx.type = answer.type
  if (answer.encoding) ctx.set('content-encoding', answer.encoding)
  ctx.body = answer.body
}

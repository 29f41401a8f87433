import { readFileSync } from 'node:fs'

/** What the baselines answer: the very bytes that the API answered for the path, captured before the run. */
export interface Answer {
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

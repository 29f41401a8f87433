import { runResourceCommand } from '../src/cli.ts'
import type { Environment } from '../src/config.ts'

/** Runs `resource` with these words. @returns its exit code, and its lines on either stream */
export async function runResource(words: readonly string[], env: Environment) {
  const [out, errors]: [string[], string[]] = [[], []]
  const io = { print: (text: string) => out.push(text), printError: (text: string) => errors.push(text) }
  const code = await runResourceCommand(words, env, io)
  return { code, out: out.join('\n'), errors: errors.join('\n') }
}

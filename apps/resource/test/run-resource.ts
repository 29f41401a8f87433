import { runResourceCommand } from '../src/cli.ts'
import type { Environment } from '../src/config.ts'

/** Runs the `resource` command with these arguments. Returns its exit code and its output on both streams. */
export async function runResource(args: readonly string[], env: Environment) {
  const [out, errors]: [string[], string[]] = [[], []]
  const io = { print: (text: string) => out.push(text), printError: (text: string) => errors.push(text) }
  const code = await runResourceCommand(args, env, io)
  return { code, out: out.join('\n'), errors: errors.join('\n') }
}

import type { Environment } from '@plainpath/http/settings'
import { runAuthCommand } from '../src/cli.ts'

export interface CommandResult {
  readonly code: number
  /** The lines that the command printed on its standard output. */
  readonly printed: string
  /** The lines that it printed on its standard error. */
  readonly errors: string
}

/** Runs the command `auth` in this process. */
export async function runAuth(
  words: readonly string[],
  env: Environment,
  now?: () => Date,
): Promise<CommandResult> {
  const [printed, errors]: [string[], string[]] = [[], []]
  const io = {
    print: (line: string) => void printed.push(line),
    printError: (line: string) => void errors.push(line),
  }
  const code = await runAuthCommand(words, env, io, now)
  return { code, printed: printed.join('\n'), errors: errors.join('\n') }
}

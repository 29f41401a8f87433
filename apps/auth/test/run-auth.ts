import type { Environment } from '@plainpath/http/settings'
import { runAuthCommand } from '../src/cli.ts'

export interface CommandResult {
  /** The exit code. */
  readonly code: number
  /** The lines that the command printed to its standard output. */
  readonly printed: string
  /** The lines that the command printed to its standard error. */
  readonly errors: string
}

/** Runs the command `auth` with these arguments and settings in this process. `now` is its clock, by default the real time. */
export async function runAuth(
  args: readonly string[],
  env: Environment,
  now?: () => Date,
): Promise<CommandResult> {
  const [printed, errors]: [string[], string[]] = [[], []]
  const io = {
    print: (line: string) => void printed.push(line),
    printError: (line: string) => void errors.push(line),
  }
  const code = await runAuthCommand(args, env, io, now)
  return { code, printed: printed.join('\n'), errors: errors.join('\n') }
}

import { openLocalEnvironment } from './local-environment.ts'
import { type Environment, localSettings } from './local-settings.ts'
import { PROJECT_FOLDER } from './project-folder.ts'
import { silentSteps } from './steps.ts'

interface CommandIo {
  print(line: string): void
  printError(line: string): void
}

export type RunCommand = (args: readonly string[], env: Environment, io: CommandIo) => Promise<number>

const HELP = new Set(['help', '--help', '-h'])

/**
 * Runs an app's command line on the data of `npm start`, whether that runs or not; or on the servers that the app's own
 * variables name. Asking for help opens nothing.
 */
export async function runOnLocalData(
  run: RunCommand,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  const io = { print: (line: string) => console.log(line), printError: (line: string) => console.error(line) }
  if (args.length === 0 || args.some((arg) => HELP.has(arg))) return run(args, env, io)
  await using local = await openLocalEnvironment(localSettings(env, PROJECT_FOLDER), env, silentSteps)
  return await run(args, local.env, io)
}

/* Runs a command of an app on the stores of a stack: `npm run stack:auth -- …` and `npm run stack:resource -- …`. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { runAuthCommand } from '@plainpath/auth/cli'
import { runResourceCommand } from '@plainpath/resource/cli'
import { STACK_ENV_FILE_NAME } from './stack-env.ts'

const TERMINAL = {
  print: (text: string) => console.log(text),
  printError: (text: string) => console.error(text),
}
const RUN_COMMAND = { auth: runAuthCommand, resource: runResourceCommand } as const

const project = fileURLToPath(new URL('../../..', import.meta.url))
const [app, ...args] = process.argv.slice(2)
const file = path.join(path.resolve(project, process.env['DATA_DIR'] || '.data/stack'), STACK_ENV_FILE_NAME)
const callerSettings = Object.entries(process.env).filter(
  ([name, value]) => /^(AUTH|RESOURCE)_/.test(name) && value,
)

/** Reads the settings of the stack. The caller's environment variables take precedence, as with `npm run auth`. */
function readSettings(): Record<string, string | undefined> | undefined {
  try {
    return { ...parseEnv(readFileSync(file, 'utf8')), ...Object.fromEntries(callerSettings) }
  } catch (error) {
    TERMINAL.printError(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}). Start the stack with npm run stack, or set DATA_DIR to its folder.`,
    )
    return undefined
  }
}

const settings = readSettings()
process.exitCode = settings
  ? await RUN_COMMAND[app === 'auth' ? 'auth' : 'resource'](args, settings, TERMINAL)
  : 1

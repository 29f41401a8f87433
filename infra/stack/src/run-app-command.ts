/* Runs a command of an app on the stores of a stack: `npm run stack:auth -- …` and `npm run stack:resource -- …`. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { runAuthCommand } from '@plainpath/auth/cli'
import { TERMINAL_IO } from '@plainpath/commands'
import { runResourceCommand } from '@plainpath/resource/cli'
import { STACK_ENV_FILE_NAME } from './stack-env.ts'

const APP_COMMANDS = { auth: runAuthCommand, resource: runResourceCommand } as const

const projectFolder = fileURLToPath(new URL('../../..', import.meta.url))
// The scripts in package.json pass `auth` or `resource` first.
const [app, ...args] = process.argv.slice(2)
const stackFolder = path.resolve(projectFolder, process.env['DATA_DIR'] || '.data/stack')
const stackEnvFile = path.join(stackFolder, STACK_ENV_FILE_NAME)
// An empty variable counts as unset.
const callerSettings = Object.entries(process.env).filter(
  ([name, value]) => /^(AUTH|RESOURCE)_/.test(name) && value,
)

/** Reads the settings of the stack. The caller's environment variables take precedence, as with `npm run auth`. */
function readSettings(): Record<string, string | undefined> | undefined {
  try {
    return { ...parseEnv(readFileSync(stackEnvFile, 'utf8')), ...Object.fromEntries(callerSettings) }
  } catch (error) {
    TERMINAL_IO.printError(
      `${stackEnvFile} cannot be read (${(error as NodeJS.ErrnoException).code}). Start the stack with npm run stack, or set DATA_DIR to its folder.`,
    )
    return undefined
  }
}

const settings = readSettings()
process.exitCode = settings
  ? await APP_COMMANDS[app === 'auth' ? 'auth' : 'resource'](args, settings, TERMINAL_IO)
  : 1

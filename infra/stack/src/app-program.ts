import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { AppName } from '@plainpath/metadata'
import { shippedOptions } from './shipped-options.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The options of Node in the entry points of `infra/Dockerfile`. */
const SHIPPED = shippedOptions(readFileSync(path.join(ROOT, 'infra/Dockerfile'), 'utf8'))

/** What Node is given to run an app as its image does, up to the command of the app. */
export const appProgram = (app: AppName, nodeOptions: readonly string[] = []): readonly string[] => [
  ...SHIPPED,
  ...nodeOptions,
  path.join(ROOT, `apps/${app}/src/main.ts`),
]

/**
 * The variable by which a start takes what `compileApps` left. Beside the packages and not with the data of a stack: it
 * holds what the code says, and outlives the stack.
 */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/plainpath') }

/** Compiles both apps, as the image does when it is made: a start then strips no types. */
export async function compileApps(nodeOptions: readonly string[] = []): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', ...COMPILE_CACHE }
  const compile = (app: AppName) =>
    promisify(execFile)(process.execPath, [...appProgram(app, nodeOptions), '--help'], { env })
  await Promise.all([compile('auth'), compile('resource')])
}

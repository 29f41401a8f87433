import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { AppName } from '@plainpath/metadata'
import { z } from 'zod'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

export interface AppPorts {
  readonly public: number
  readonly operations: number
  /** auth only. */
  readonly internal: number
}

export interface RunningApp extends ManagedProcess {
  readonly ports: AppPorts
}

/** Starts an app as a process, with the Node options of its image, on loopback. */
export async function startApp(options: {
  app: AppName
  number: number
  ports: AppPorts
  env: Readonly<Record<string, string>>
  /** Environment variables of the process besides its settings. */
  processEnv?: Readonly<Record<string, string>>
  folder: string
  /** Options of Node, after those of the image. */
  nodeOptions?: readonly string[]
  /** A command that executes the app, such as `taskset`, with its arguments. */
  wrapper?: readonly string[]
  /** The clone or check-out whose code runs; this one when absent. */
  root?: string
  /** The output after which it counts as started; the log line `listening` when absent. */
  readyLine?: string
}): Promise<RunningApp> {
  const { app, ports, folder, wrapper = [], root = ROOT } = options
  const prefix = app.toUpperCase()
  const appSettings = Object.entries(options.env).filter(([name]) => name.startsWith(`${prefix}_`))
  const child = await startManagedProcess({
    name: `${app}-${options.number}`,
    command: [...wrapper, process.execPath, ...appCommand(app, options.nodeOptions, root), 'serve'],
    env: {
      ...COMPILE_CACHE,
      ...options.processEnv,
      ...Object.fromEntries(appSettings),
      [`${prefix}_HOST`]: '127.0.0.1',
      [`${prefix}_PORT`]: String(ports.public),
      [`${prefix}_OPERATIONS_PORT`]: String(ports.operations),
      ...(app === 'auth' && { AUTH_INTERNAL_PORT: String(ports.internal) }),
    },
    logFile: path.join(folder, `${app}-${options.number}.log`),
    readyLine: options.readyLine ?? '"msg":"listening"',
  })
  return Object.assign(child, { ports })
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The options of Node in the entry points of `infra/Dockerfile`. */
const SHIPPED_OPTIONS = shippedOptions(readFileSync(path.join(ROOT, 'infra/Dockerfile'), 'utf8'))

/** Returns the arguments of Node that run an app as its image does, without the command of the app. */
const appCommand = (app: AppName, nodeOptions: readonly string[] = [], root = ROOT): readonly string[] => [
  ...SHIPPED_OPTIONS,
  ...nodeOptions,
  path.join(root, `apps/${app}/src/main.ts`),
]

/**
 * Lets a start use the output of `compileApps`. The cache depends on the code only, so it is stored with the packages and not
 * with the data of a stack.
 */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/plainpath') }

/** Compiles both apps, as the build of the image does, so that a start does not have to strip types. */
export async function compileApps(nodeOptions: readonly string[] = []): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', ...COMPILE_CACHE }
  const compile = (app: AppName) =>
    promisify(execFile)(process.execPath, [...appCommand(app, nodeOptions), '--help'], { env })
  await Promise.all([compile('auth'), compile('resource')])
}

/**
 * Reads the options of Node with which the image starts the apps.
 *
 * @param dockerfile its text; each entry point has the program, its options and the file
 * @throws {Error} when there is no entry point, or when the options of two differ
 */
export function shippedOptions(dockerfile: string): readonly string[] {
  const entryPoints = [...dockerfile.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map(([, entryPoint = '']) =>
    z.array(z.string()).parse(JSON.parse(entryPoint)).slice(1, -1),
  )
  const [options, ...others] = entryPoints
  if (!options) throw new Error('the Dockerfile has no entry point')
  if (others.some((other) => other.join(' ') !== options.join(' ')))
    throw new Error('the apps are started under different options')
  return options
}

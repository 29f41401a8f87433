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
  /** The port of the internal listener, which only `auth` has. */
  readonly internal: number
}

export interface RunningApp extends ManagedProcess {
  readonly ports: AppPorts
}

/** Starts an app as a process on loopback, with the Node options of its image. */
export async function startApp(options: {
  app: AppName
  /** The number of the instance, such as 1 for `auth-1`. */
  number: number
  ports: AppPorts
  /** Settings of both apps, of which the app gets its own. */
  env: Readonly<Record<string, string>>
  /** Environment variables of the process in addition to its settings. */
  processEnv?: Readonly<Record<string, string>>
  /** The folder for the log. */
  folder: string
  /** Node options in addition to those of the image. */
  nodeOptions?: readonly string[]
  /** A command that executes the app, such as `taskset`, with its arguments. */
  wrapper?: readonly string[]
  /** The clone whose code runs; by default this one. */
  root?: string
  /** A part of the output that shows that the app is ready; by default the message `listening` of a log line. */
  readyLine?: string
}): Promise<RunningApp> {
  const { app, ports, folder, wrapper = [], root = ROOT } = options
  const prefix = app.toUpperCase()
  const appSettings = Object.entries(options.env).filter(([name]) => name.startsWith(`${prefix}_`))
  const appProcess = await startManagedProcess({
    name: `${app}-${options.number}`,
    command: [...wrapper, process.execPath, ...buildAppCommand(app, options.nodeOptions, root), 'serve'],
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
  return Object.assign(appProcess, { ports })
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The Node options in the entry points of `infra/Dockerfile`. */
const SHIPPED_OPTIONS = readShippedOptions(readFileSync(path.join(ROOT, 'infra/Dockerfile'), 'utf8'))

/** Returns the Node arguments that run an app as its image does, without the app's own command. */
const buildAppCommand = (
  app: AppName,
  nodeOptions: readonly string[] = [],
  root = ROOT,
): readonly string[] => [...SHIPPED_OPTIONS, ...nodeOptions, path.join(root, `apps/${app}/src/main.ts`)]

/**
 * Lets an app use the output of `compileApps`. The cache depends only on the code, so it is stored with the packages and not with
 * the data of a stack.
 */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/plainpath') }

const compilations = new Map<string, Promise<void>>()

/**
 * Compiles both apps, so that later starts need not strip types. In one process, the same code is compiled only once under the
 * same options.
 *
 * @param root the clone whose code is compiled; by default this one
 */
export function compileApps(nodeOptions: readonly string[] = [], root = ROOT): Promise<void> {
  const key = [root, ...nodeOptions].join(' ')
  const compilation = compilations.get(key) ?? runHelp(nodeOptions, root)
  compilations.set(key, compilation)
  return compilation
}

/** Runs `--help` of both apps, which loads their modules and so fills the compile cache. */
async function runHelp(nodeOptions: readonly string[], root: string): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', ...COMPILE_CACHE }
  const compile = (app: AppName) =>
    promisify(execFile)(process.execPath, [...buildAppCommand(app, nodeOptions, root), '--help'], { env })
  await Promise.all([compile('auth'), compile('resource')])
}

/**
 * Reads the Node options with which the image starts the apps.
 *
 * @param dockerfile the text of the Dockerfile, whose entry points consist of the program, its options and the file
 * @throws {Error} if there is no entry point, or if two have different options
 */
export function readShippedOptions(dockerfile: string): readonly string[] {
  const entryPoints = [...dockerfile.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map(([, entryPoint = '']) =>
    z.array(z.string()).parse(JSON.parse(entryPoint)).slice(1, -1),
  )
  const [options, ...others] = entryPoints
  if (!options) throw new Error('the Dockerfile has no entry point')
  if (others.some((other) => other.join(' ') !== options.join(' ')))
    throw new Error('the apps are started with different options')
  return options
}

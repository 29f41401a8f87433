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

/** An app as a process of its own, run as its image runs it, bound to loopback. */
export async function startApp(options: {
  app: AppName
  number: number
  ports: AppPorts
  env: Readonly<Record<string, string>>
  /** Of the process itself, beside its settings. */
  surroundings?: Readonly<Record<string, string>>
  folder: string
  /** Of Node, after those of the image. */
  nodeOptions?: readonly string[]
  /** A command that becomes the process, such as `taskset`, with its arguments. */
  under?: readonly string[]
  /** The line after which it is taken as started; else the one that says that it listens. */
  readyLine?: string
}): Promise<RunningApp> {
  const { app, ports, folder, under = [] } = options
  const prefix = app.toUpperCase()
  const own = Object.entries(options.env).filter(([name]) => name.startsWith(`${prefix}_`))
  const started = await startManagedProcess({
    name: `${app}-${options.number}`,
    command: [...under, process.execPath, ...appProgram(app, options.nodeOptions), 'serve'],
    env: {
      ...COMPILE_CACHE,
      ...options.surroundings,
      ...Object.fromEntries(own),
      [`${prefix}_HOST`]: '127.0.0.1',
      [`${prefix}_PORT`]: String(ports.public),
      [`${prefix}_OPERATIONS_PORT`]: String(ports.operations),
      ...(app === 'auth' && { AUTH_INTERNAL_PORT: String(ports.internal) }),
    },
    logFile: path.join(folder, `${app}-${options.number}.log`),
    readyLine: options.readyLine ?? '"msg":"listening"',
  })
  return Object.assign(started, { ports })
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The options of Node in the entry points of `infra/Dockerfile`. */
const SHIPPED = shippedOptions(readFileSync(path.join(ROOT, 'infra/Dockerfile'), 'utf8'))

/** What Node is given to run an app as its image does, up to the command of the app. */
const appProgram = (app: AppName, nodeOptions: readonly string[] = []): readonly string[] => [
  ...SHIPPED,
  ...nodeOptions,
  path.join(ROOT, `apps/${app}/src/main.ts`),
]

/**
 * The variable by which a start takes what `compileApps` left. Beside the packages and not with the data of a stack: it
 * holds what the code says, and outlives the stack.
 */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/plainpath') }

/** Compiles both apps, as the image does when it is made: a start then strips no types. */
export async function compileApps(nodeOptions: readonly string[] = []): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', ...COMPILE_CACHE }
  const compile = (app: AppName) =>
    promisify(execFile)(process.execPath, [...appProgram(app, nodeOptions), '--help'], { env })
  await Promise.all([compile('auth'), compile('resource')])
}

/**
 * The options of Node under which the image starts the apps.
 *
 * @param dockerfile its text; each entry point is the program, its options and the file it runs
 * @throws {Error} when there is no entry point, or two differ
 */
export function shippedOptions(dockerfile: string): readonly string[] {
  const entryPoints = [...dockerfile.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map(([, words = '']) =>
    z.array(z.string()).parse(JSON.parse(words)).slice(1, -1),
  )
  const [options, ...others] = entryPoints
  if (!options) throw new Error('the Dockerfile has no entry point')
  if (others.some((other) => other.join(' ') !== options.join(' ')))
    throw new Error('the apps are started under different options')
  return options
}

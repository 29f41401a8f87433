import path from 'node:path'
import type { AppName } from '@plainpath/metadata'
import { appProgram, COMPILE_CACHE } from './app-program.ts'
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
  /** The line after which it is taken as started; else the one that says that it listens. */
  readyLine?: string
}): Promise<RunningApp> {
  const { app, ports, folder } = options
  const prefix = app.toUpperCase()
  const own = Object.entries(options.env).filter(([name]) => name.startsWith(`${prefix}_`))
  const started = await startManagedProcess({
    name: `${app}-${options.number}`,
    command: process.execPath,
    args: [...appProgram(app), 'serve'],
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

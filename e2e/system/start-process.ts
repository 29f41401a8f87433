import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { AppName } from '@plainpath/metadata'

/** A process of an app. Disposing sends SIGTERM, and waits without a time limit until the process has ended. */
export interface AppProcess extends AsyncDisposable {
  /** The origin at which the app listens. */
  readonly url: string
  readonly child: ChildProcess
  /** The lines that the process has written to stdout and stderr. */
  readonly outputLines: readonly string[]
}

export interface ProcessPorts {
  readonly public: number
  readonly operations: number
  /** The internal port of an auth process: of this one, or of the one to which this API process sends introspections. */
  readonly internal: number
}

const START_TIMEOUT_MS = 60_000

/**
 * Runs `apps/<app>/src/main.ts serve` as a process, and waits until it listens.
 *
 * @param systemEnv the settings of both apps, of which the process gets those of its app
 * @param ports on 127.0.0.1
 * @param extraEnv further variables of the process
 * @throws {Error} if the process exits, with its output, or is not listening within 60 s
 */
export async function startProcess(
  app: AppName,
  systemEnv: Readonly<Record<string, string>>,
  ports: ProcessPorts,
  extraEnv: Readonly<Record<string, string>> = {},
): Promise<AppProcess> {
  const prefix = app.toUpperCase()
  const main = fileURLToPath(new URL(`../../apps/${app}/src/main.ts`, import.meta.url))
  const child = spawn(process.execPath, [main, 'serve'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      ...Object.fromEntries(Object.entries(systemEnv).filter(([key]) => key.startsWith(`${prefix}_`))),
      [`${prefix}_PORT`]: String(ports.public),
      [`${prefix}_HOST`]: '127.0.0.1',
      [`${prefix}_OPERATIONS_PORT`]: String(ports.operations),
      [`${prefix}_ALSO_ACCEPT_HOSTS`]: `127.0.0.1:${ports.public}`,
      ...(app === 'auth'
        ? { AUTH_INTERNAL_PORT: String(ports.internal) }
        : { RESOURCE_AUTH_URL: `http://127.0.0.1:${ports.internal}` }),
      ...extraEnv,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const outputLines: string[] = []
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      outputLines.push(line)
      if (line.includes('"msg":"listening"')) resolve()
    })
  }
  child.once('exit', (code) =>
    reject(new Error(`${app} exited with code ${code}:\n${outputLines.join('\n')}`)),
  )
  // oxlint-disable-next-line no-restricted-globals -- bounds the time until the process listens
  const timer = setTimeout(
    () => reject(new Error(`${app} was not listening within ${START_TIMEOUT_MS / 1_000} s`)),
    START_TIMEOUT_MS,
  )
  try {
    await listening
  } catch (error) {
    // A process that waits for its stores would not end by itself.
    child.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
  }
  return {
    url: `http://127.0.0.1:${ports.public}`,
    child,
    outputLines,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

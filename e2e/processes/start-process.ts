import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { AppName } from '@plainpath/metadata'

export interface AppProcess extends AsyncDisposable {
  readonly url: string
  readonly child: ChildProcess
  /** The lines that the process has written to stdout and stderr. */
  readonly printed: readonly string[]
}

const START_TIMEOUT_MS = 60_000

/**
 * Runs `apps/<app>/src/main.ts serve` as a process, and waits until it listens. Disposing sends SIGTERM, and waits until the
 * process has ended.
 */
export async function startProcess(
  app: AppName,
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<AppProcess> {
  const main = fileURLToPath(new URL(`../../apps/${app}/src/main.ts`, import.meta.url))
  const child = spawn(process.execPath, [main, 'serve'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed: string[] = []
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      printed.push(line)
      if (line.includes('"msg":"listening"')) resolve()
    })
  }
  child.once('exit', (code) => reject(new Error(`${app} exited with code ${code}:\n${printed.join('\n')}`)))
  // oxlint-disable-next-line no-restricted-globals -- bounds the time until the process listens
  const timer = setTimeout(
    () => reject(new Error(`${app} was not ready in ${START_TIMEOUT_MS} ms`)),
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
    url: `http://127.0.0.1:${port}`,
    child,
    printed,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

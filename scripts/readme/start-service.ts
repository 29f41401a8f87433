import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'

/** A first start downloads everything. */
const READY_SECONDS = 300
const STOP_SECONDS = 30

export interface Service extends AsyncDisposable {
  /** How long it took from the command to `GET /api/health` with 200. */
  readonly readyAfterSeconds: number
  /** Sends SIGTERM to npm. @throws when the service does not end with exit code 0 in time. */
  stop(): Promise<void>
}

/** Gives `npm start` in a checkout. @throws when it is not ready in time, with all it said. */
export async function startService(
  checkout: string,
  options: { port: number; env: Readonly<Record<string, string>> },
): Promise<Service> {
  const env = { ...options.env, PORT: String(options.port) }
  const npm = spawn('npm', ['start'], { cwd: checkout, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000

  while (!(await isReady(options.port))) {
    if (npm.exitCode === null && npm.signalCode === null && seconds() < READY_SECONDS) {
      await setTimeout(100)
      continue
    }
    npm.kill('SIGTERM')
    throw new Error(`npm start was not ready after ${seconds().toFixed(1)} s. It said:\n${said}`)
  }
  return {
    readyAfterSeconds: seconds(),
    async stop() {
      npm.kill('SIGTERM')
      const code = await exitCode(npm)
      if (code !== 0) throw new Error(`npm start ended with ${code} after SIGTERM. It said:\n${said}`)
    },
    async [Symbol.asyncDispose]() {
      npm.kill('SIGTERM')
      await exitCode(npm)
    },
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/health`, { signal: AbortSignal.timeout(1000) })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    return false
  }
}

async function exitCode(child: ChildProcess): Promise<number | string> {
  if (child.exitCode === null && child.signalCode === null) {
    const inTime = once(child, 'exit', { signal: AbortSignal.timeout(STOP_SECONDS * 1000) }).catch(
      () => 'late',
    )
    if ((await inTime) === 'late') {
      child.kill('SIGKILL')
      return `no answer within ${STOP_SECONDS} s`
    }
  }
  return child.exitCode ?? String(child.signalCode)
}

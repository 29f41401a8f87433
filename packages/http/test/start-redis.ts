import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { reserveFreePorts } from '../src/server/free-ports.ts'

/** A Redis server that belongs to one test, which can configure, kill and restart it. */
export interface TestRedis extends AsyncDisposable {
  readonly url: string
  /** Kills the server. Its data is lost, except for the snapshot that a replica received. */
  kill(): Promise<void>
  /**
   * Restarts the server on the same port, without data. Only a former replica has data: it loads the snapshot that it
   * received.
   */
  restart(): Promise<void>
}

/**
 * Starts a Redis server on a free port, in a new folder.
 *
 * @param settings such as `{ 'maxmemory-policy': 'allkeys-lru' }`
 * @throws {Error} with the server's output if it does not start
 */
export async function startRedis(settings: Record<string, string> = {}): Promise<TestRedis> {
  const port = (await reserveFreePorts(1))[0] ?? 0
  // A replica leaves the snapshot that it received in its folder, and a server that starts in that folder loads it.
  // Therefore each server has its own folder.
  const dir = await mkdtemp(path.join(tmpdir(), 'plainpath-redis-test-'))
  const defaults = { port: String(port), bind: '127.0.0.1', save: '', appendonly: 'no', dir }
  const serverSettings = { ...defaults, ...settings }
  let server = await startServer(serverSettings)
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    async restart() {
      await kill()
      server = await startServer(serverSettings)
    },
    async [Symbol.asyncDispose]() {
      await kill()
      await rm(dir, { recursive: true })
    },
  }
}

async function startServer(settings: Record<string, string>) {
  const child = spawn(
    'redis-server',
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const outputLines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    outputLines.push(line)
    if (line.includes('Ready to accept connections')) {
      // The rest of the output must be read, too. Otherwise the pipe fills, and Redis blocks.
      child.stdout.resume()
      return child
    }
  }
  throw new Error(`redis-server did not start:\n${outputLines.join('\n')}`)
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { reserveFreePorts } from '../src/server/free-ports.ts'

/** A Redis server that belongs to one test, which can configure, kill and restart it. */
export interface OwnRedis extends AsyncDisposable {
  readonly url: string
  /** Kills the server. Its data is lost. */
  kill(): Promise<void>
  /** Restarts the server without data, on the same port. */
  restart(): Promise<void>
}

/**
 * Starts a Redis server on a free port, in a new folder.
 *
 * @param settings such as `{ 'maxmemory-policy': 'allkeys-lru' }`
 */
export async function startRedis(settings: Record<string, string> = {}): Promise<OwnRedis> {
  const port = (await reserveFreePorts(1))[0] ?? 0
  // A replica leaves the snapshot that it received in its folder. A server that starts in that folder would load it.
  const dir = await mkdtemp(path.join(tmpdir(), 'plainpath-redis-test-'))
  const args = { port: String(port), bind: '127.0.0.1', save: '', appendonly: 'no', dir, ...settings }
  let server = await startServer(args)
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
      server = await startServer(args)
    },
    async [Symbol.asyncDispose]() {
      await kill()
      await rm(dir, { recursive: true })
    },
  }
}

async function startServer(args: Record<string, string>) {
  const child = spawn(
    'redis-server',
    Object.entries(args).flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const outputLines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    outputLines.push(line)
    if (line.includes('Ready to accept connections')) {
      child.stdout.resume()
      return child
    }
  }
  throw new Error(`redis-server did not start:\n${outputLines.join('\n')}`)
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { freePorts } from '@plainpath/http/free-ports'

/** A Redis of this test alone, for what no shared server may suffer. */
export interface OwnRedis extends AsyncDisposable {
  readonly url: string
  /** Ends it at once, with all it held. */
  kill(): Promise<void>
  /** Starts it again, empty, on the same port. */
  restart(): Promise<void>
}

/** @param settings such as `{ 'maxmemory-policy': 'allkeys-lru' }` */
export async function startRedis(settings: Record<string, string> = {}): Promise<OwnRedis> {
  const port = (await freePorts(1))[0] ?? 0
  const args = { port: String(port), bind: '127.0.0.1', save: '', appendonly: 'no', dir: '/tmp', ...settings }
  let running = await start(args)
  const kill = async () => {
    if (running.exitCode !== null || running.signalCode !== null) return
    running.kill('SIGKILL')
    await once(running, 'exit')
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    async restart() {
      await kill()
      running = await start(args)
    },
    [Symbol.asyncDispose]: kill,
  }
}

async function start(args: Record<string, string>) {
  const child = spawn(
    'redis-server',
    Object.entries(args).flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const printed: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    printed.push(line)
    if (line.includes('Ready to accept connections')) {
      child.stdout.resume()
      return child
    }
  }
  throw new Error(`redis-server did not start:\n${printed.join('\n')}`)
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { freePorts } from '@plainpath/http/free-ports'

/** A Redis of this test alone, which the test may stop and empty. */
export interface OwnRedis extends AsyncDisposable {
  readonly url: string
  /** Ends it at once, with all it held. */
  kill(): Promise<void>
  /** Starts it again, empty, on the same port. */
  restart(): Promise<void>
}

export async function startRedis(): Promise<OwnRedis> {
  const [port = 0] = await freePorts(1)
  let running = await start(port)
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
      running = await start(port)
    },
    [Symbol.asyncDispose]: kill,
  }
}

async function start(port: number): Promise<ChildProcess> {
  const options = { port: String(port), bind: '127.0.0.1', save: '', appendonly: 'no', dir: '/tmp' }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  for await (const line of createInterface({ input: child.stdout }))
    if (line.includes('Ready to accept connections')) {
      child.stdout.resume()
      return child
    }
  throw new Error('redis-server did not start')
}

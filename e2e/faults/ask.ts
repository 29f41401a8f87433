import { Agent, type IncomingHttpHeaders, request } from 'node:http'

export interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Times are from `performance.now()`: `startedAt` before the first byte was sent, `endedAt` after the last was received. */
export interface Answer {
  /** 0 when there was no response. */
  readonly status: number
  readonly text: string
  readonly startedAt: number
  readonly endedAt: number
  header(name: string): string | undefined
}

export interface Client extends Disposable {
  /** Sends a request. Never throws: a missing response has status 0. */
  ask(sent: Sent): Promise<Answer>
}

const GIVE_UP_MS = 15_000

export function createClient(origin: string): Client {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 })
  return {
    ask: (sent) => exchange(new URL(sent.path, origin), sent, agent),
    [Symbol.dispose]: () => agent.destroy(),
  }
}

function exchange(url: URL, { method, headers, body }: Sent, agent: Agent): Promise<Answer> {
  const startedAt = performance.now()
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const answer = (status: number, text: string, known: IncomingHttpHeaders = {}) =>
    resolve({
      status,
      text,
      startedAt,
      endedAt: performance.now(),
      header: (name) => known[name]?.toString(),
    })
  const outgoing = request(url, { method, headers: { ...headers }, agent, timeout: GIVE_UP_MS })
  outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing within ${GIVE_UP_MS / 1000} s`)))
  outgoing.on('error', (error: NodeJS.ErrnoException) => answer(0, error.code ?? error.message))
  outgoing.on('response', (incoming) => {
    let text = ''
    incoming.setEncoding('utf8')
    incoming.on('data', (chunk: string) => {
      text += chunk
    })
    incoming.on('end', () => answer(incoming.statusCode ?? 0, text, incoming.headers))
    incoming.on('error', (error: NodeJS.ErrnoException) => answer(0, error.code ?? error.message))
  })
  outgoing.end(body)
  return promise
}

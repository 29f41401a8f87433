/** A server under load. */
export interface Target {
  readonly port: number
  /** The process whose processor time is measured. */
  readonly pid: number
  /** Returns the bytes of the next request. */
  readonly next: () => Buffer
  /** Makes the requests of a measurement ahead, where making them takes long or they must be recent. @param seconds it takes */
  readonly prepare?: (seconds: number) => Promise<void>
  /** The expected status; any other is an error. */
  readonly status: number
}

/** Formats a complete HTTP/1.1 request. @param path such as `/api/guides` */
export function requestBytes(
  method: string,
  path: string,
  { headers = {}, body = '' }: { headers?: Readonly<Record<string, string>>; body?: string } = {},
): Buffer {
  const all = {
    host: HOST,
    'user-agent': 'plainpath-bench',
    // As a gateway would send it for clients at many addresses.
    'x-forwarded-for': nextAddress(),
    ...headers,
    ...(method === 'POST' && { 'content-length': String(Buffer.byteLength(body)) }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

const ADDRESSES = 1_000
let addresses = 0

function nextAddress(): string {
  addresses = (addresses + 1) % ADDRESSES
  return `10.0.${addresses >> 8}.${addresses & 255}`
}

/** The host of the configured origin, at which nothing listens. */
export const HOST = 'localhost:8080'
export const ORIGIN = `http://${HOST}`

/** Returns a function that returns the requests in turn, repeatedly. */
export function cycle(requests: readonly Buffer[]): () => Buffer {
  let at = 0
  return () => {
    const request = requests[at % requests.length]
    if (!request) throw new Error('there is no request to send')
    at += 1
    return request
  }
}

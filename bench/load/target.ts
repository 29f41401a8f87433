/** A server under load. */
export interface Target {
  readonly port: number
  /** The process whose processor time is measured. */
  readonly pid: number
  /** Returns the bytes of the next request. */
  readonly next: () => Buffer
  /** Creates requests just before a measurement of the given length, if creating them is slow or they must be recent. */
  readonly prepare?: (seconds: number) => Promise<void>
  /** The expected status; any other is an error. */
  readonly status: number
}

/** Formats a complete HTTP/1.1 request. @param path such as `/api/guides` */
export function formatRequest(
  method: string,
  path: string,
  { headers = {}, body = '' }: { headers?: Readonly<Record<string, string>>; body?: string } = {},
): Buffer {
  const allHeaders = {
    host: HOST,
    'user-agent': 'plainpath-bench',
    // Simulates clients at many addresses behind the gateway.
    'x-forwarded-for': takeAddress(),
    ...headers,
    ...(method === 'POST' && { 'content-length': String(Buffer.byteLength(body)) }),
  }
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

const ADDRESS_COUNT = 1_000
let addressIndex = 0

/** Returns the next of `ADDRESS_COUNT` addresses, in turn. */
function takeAddress(): string {
  addressIndex = (addressIndex + 1) % ADDRESS_COUNT
  return `10.0.${addressIndex >> 8}.${addressIndex & 255}`
}

/** The host of the apps' configured origin. The measured servers listen on other ports. */
export const HOST = 'localhost:8080'
export const ORIGIN = `http://${HOST}`

/**
 * Creates a function that returns the next of the values at each call, and starts again after the last. It throws if there are no
 * values.
 */
export function cycle<T>(values: readonly T[]): () => T {
  let index = 0
  return () => {
    const value = values[index % values.length]
    if (value === undefined) throw new Error('there is nothing to take in turn')
    index += 1
    return value
  }
}

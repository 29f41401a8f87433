export interface BoundedAnswer {
  readonly status: number
  /** The media type, lower-case, without parameters. */
  readonly type: string
  readonly text: string
}

const LIMIT_BYTES = 64 * 1024

/** What undici says when a kept connection was closed just as a request was written to it. */
const LOST_CONNECTION = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/**
 * Fetches at most 64 KiB, follows no redirect, and is over when `signal` says so. A lost connection is tried once
 * more at once, so only ask what may be asked twice.
 *
 * @throws what fetch throws, and a RangeError for a longer answer
 */
export async function fetchBounded(
  url: string,
  init: RequestInit & { signal: AbortSignal },
): Promise<BoundedAnswer> {
  const ask = async () => {
    const response = await fetch(url, { ...init, redirect: 'error' })
    const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
    return { status: response.status, type, text: await boundedText(response) }
  }
  try {
    return await ask()
  } catch (error) {
    const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code
    if (init.signal.aborted || !LOST_CONNECTION.has(code ?? '')) throw error
    return ask()
  }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  const body: AsyncIterable<Uint8Array> | null = response.body
  for await (const chunk of body ?? []) {
    length += chunk.byteLength
    if (length > LIMIT_BYTES) throw new RangeError(`the answer is longer than ${LIMIT_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

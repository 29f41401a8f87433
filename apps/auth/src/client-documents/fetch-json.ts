import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { err, ok, type Result } from '@plainpath/domain'
import { JsonError, parseJson } from '@plainpath/http'
import { documentLifetimeMs } from './document-lifetime.ts'
import { isLoopbackAddress, isPublicAddress } from './public-address.ts'
import { dnsResolver, type ResolveHost } from './resolve-host.ts'

/** How long one fetch may take, from the name look-up to the last byte. */
const TIMEOUT_MS = 2_000
const MAX_BODY_BYTES = 5 * 1024
const MAX_HEADER_BYTES = 8 * 1024

/** Which step of a fetch failed. These names label a metric; callers of the service never see them. */
export const FETCH_FAULTS = [
  'url',
  'name',
  'address',
  'connection',
  'timeout',
  'status',
  'type',
  'size',
  'json',
] as const
export type FetchFault = (typeof FETCH_FAULTS)[number]

export interface FetchedJson {
  readonly json: unknown
  /** How long it may be cached, in milliseconds from now. */
  readonly lifetimeMs: number
}

export interface FetchOptions {
  /**
   * `host:port` of servers on this machine that tests may fetch from, and nowhere else on it: such a host resolves to loopback,
   * whatever DNS says.
   */
  readonly testHosts: readonly string[]
  /** Certificate authorities as PEM, instead of those that Node trusts. For tests. */
  readonly ca?: string | undefined
  /** Replaces DNS, for tests. */
  readonly resolve?: ResolveHost | undefined
}

/**
 * Fetches a JSON document from a URL that anybody may have chosen. It connects to public addresses only, and to the very
 * addresses that it checked; it follows no redirect, and reads at most 5 KiB within 2 seconds.
 *
 * @throws nothing for what the other server does or fails to do
 */
export async function fetchJson(
  url: URL,
  options: FetchOptions,
  now: () => Date,
): Promise<Result<FetchedJson, FetchFault>> {
  const isTestHost = options.testHosts.includes(url.host)
  if (!isFetchableUrl(url, isTestHost)) return err('url')
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const resolve = options.resolve ?? (isTestHost ? loopback : resolveByDns)
  const addresses = isIP(url.hostname)
    ? [url.hostname]
    : await beforeAbort(resolve(url.hostname, signal), signal)
  if (signal.aborted) return err('timeout')
  if (!addresses || addresses.length === 0) return err('name')
  if (!addresses.every(isTestHost ? isLoopbackAddress : isPublicAddress)) return err('address')
  const fetched = await exchange(url, { addresses, ca: options.ca, signal })
  if (!fetched.ok) return signal.aborted ? err('timeout') : fetched
  const json = parseBody(fetched.value.body)
  if (!json.ok) return json
  return ok({ json: json.value, lifetimeMs: documentLifetimeMs(fetched.value.headers, now()) })
}

const resolveByDns = dnsResolver()
const loopback: ResolveHost = () => Promise.resolve(['127.0.0.1'])

/** A domain name of at least two labels: not an address, and without the final dot that would make it a second name of the host. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?$/

function isFetchableUrl(url: URL, isTestHost: boolean): boolean {
  if (url.protocol !== 'https:' || url.username || url.password || url.href.includes('#')) return false
  return isTestHost || (url.port === '' && DOMAIN.test(url.hostname))
}

/** Waits until the signal aborts at the latest; then, and when the promise fails, the result is undefined. */
const beforeAbort = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
    promise.then(resolve, () => resolve(undefined))
  })

interface Exchange {
  readonly addresses: readonly string[]
  readonly ca: string | undefined
  readonly signal: AbortSignal
}

/** Sends the request and reads the response. The connection is closed when it returns. */
async function exchange(
  url: URL,
  { addresses, ca, signal }: Exchange,
): Promise<Result<{ body: Buffer; headers: IncomingMessage['headers'] }, FetchFault>> {
  const request = httpsRequest(url, {
    // A connection of its own: none that was opened for another address is reused.
    agent: false,
    lookup: lookupOf(addresses),
    // Also where the environment says otherwise (NODE_TLS_REJECT_UNAUTHORIZED).
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'plainpath' },
    maxHeaderSize: MAX_HEADER_BYTES,
    signal,
  })
  try {
    const response = await new Promise<IncomingMessage | undefined>((resolve) => {
      request.on('response', resolve)
      request.on('error', () => resolve(undefined))
      // The only event when the server switches protocols.
      request.on('close', () => resolve(undefined))
      request.end()
    })
    if (!response) return err('connection')
    const fault = headersFault(response)
    if (fault) return err(fault)
    const body = await readBody(response)
    return body.ok ? ok({ body: body.value, headers: response.headers }) : body
  } finally {
    request.destroy()
  }
}

/** Makes the connection use these addresses and no others: a name that resolves differently now changes nothing. */
const lookupOf =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
    if (all) callback(null, found)
    else callback(null, found[0]?.address ?? '', found[0]?.family)
  }

const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json[\t ]*(?:;|$)/i

function headersFault({ statusCode, headers }: IncomingMessage): FetchFault | undefined {
  if (statusCode !== 200) return 'status'
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) return 'type'
  // It was asked for as it is; what would grow when it is unpacked is not read.
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return 'type'
  return Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES ? 'size' : undefined
}

async function readBody(response: IncomingMessage): Promise<Result<Buffer, FetchFault>> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > MAX_BODY_BYTES) return err('size')
      chunks.push(chunk)
    }
  } catch {
    return err('connection')
  }
  return ok(Buffer.concat(chunks))
}

function parseBody(body: Buffer): Result<unknown, FetchFault> {
  if (!isUtf8(body)) return err('json')
  try {
    return ok(parseJson(body.toString('utf8')))
  } catch (error) {
    if (error instanceof JsonError) return err('json')
    throw error
  }
}

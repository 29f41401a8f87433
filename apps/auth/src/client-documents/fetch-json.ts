import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { err, ok, type Result } from '@plainpath/domain'
import { JsonError, parseJson } from '@plainpath/http'
import { computeDocumentLifetimeMs } from './document-lifetime.ts'
import { isLoopbackAddress, isPublicAddress } from './public-address.ts'
import { createDnsResolver, type ResolveHost } from './resolve-host.ts'

/** The timeout of a fetch, from the name lookup to the last byte. */
const TIMEOUT_MS = 2_000
/** The maximum that the draft of Client ID Metadata Documents recommends (section “Maximum Response Size”). */
const MAX_BODY_BYTES = 5 * 1024
const MAX_HEADER_BYTES = 8 * 1024

/**
 * The steps of a fetch that can fail. `url`: this URL may not be fetched. `name`: no address of the host was found. `address`:
 * one of its addresses is not public. `type`: the body is not declared as JSON, or is compressed. These names label a metric;
 * callers of the service never see them.
 */
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
  /** How long the document may be cached from now on. */
  readonly lifetimeMs: number
}

export interface FetchOptions {
  /** `host:port` of the only servers on this machine from which documents can be fetched, for tests. */
  readonly testHosts: readonly string[]
  /** Certificate authorities as PEM, instead of those that Node trusts. For tests. */
  readonly ca?: string | undefined
  /** Replaces DNS, for tests. */
  readonly resolve?: ResolveHost | undefined
  /** Replaces `TIMEOUT_MS`, for tests. */
  readonly timeoutMs?: number | undefined
}

/**
 * Fetches a JSON document from an untrusted URL. It connects only to public addresses (for a test host, only to
 * loopback), and exactly to the addresses that it checked. It follows no redirect, and accepts at most 5 KiB within 2
 * seconds. It does not throw for a failure of the other server.
 */
export async function fetchJson(
  url: URL,
  options: FetchOptions,
  now: () => Date,
): Promise<Result<FetchedJson, FetchFault>> {
  const isTestHost = options.testHosts.includes(url.host)
  if (!isFetchableUrl(url, isTestHost)) return err('url')
  const signal = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS)
  const resolve = options.resolve ?? (isTestHost ? resolveToLoopback : resolveByDns)
  const addresses = isIP(url.hostname)
    ? [url.hostname]
    : await settleBeforeAbort(resolve(url.hostname, signal), signal)
  if (signal.aborted) return err('timeout')
  if (!addresses || addresses.length === 0) return err('name')
  if (!addresses.every(isTestHost ? isLoopbackAddress : isPublicAddress)) return err('address')
  const fetched = await sendRequest(url, { addresses, ca: options.ca, signal })
  if (!fetched.ok) return signal.aborted ? err('timeout') : fetched
  const json = parseBody(fetched.value.body)
  if (!json.ok) return json
  return ok({ json: json.value, lifetimeMs: computeDocumentLifetimeMs(fetched.value.headers, now()) })
}

const resolveByDns = createDnsResolver()
const resolveToLoopback: ResolveHost = () => Promise.resolve(['127.0.0.1'])

/**
 * Matches a domain name of at least two labels. IP addresses do not match. A name with a final dot does not match either, because
 * it would be a second spelling.
 */
const DOMAIN_NAME = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?$/

function isFetchableUrl(url: URL, isTestHost: boolean): boolean {
  if (url.protocol !== 'https:' || url.username || url.password || url.href.includes('#')) return false
  return isTestHost || (url.port === '' && DOMAIN_NAME.test(url.hostname))
}

/** Waits for a promise until the signal aborts. Resolves to undefined if that happens first, or if the promise rejects. */
const settleBeforeAbort = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
    promise.then(resolve, () => resolve(undefined))
  })

interface RequestOptions {
  readonly addresses: readonly string[]
  readonly ca: string | undefined
  readonly signal: AbortSignal
}

/** Sends the request and reads the response. The connection is closed when it returns. */
async function sendRequest(
  url: URL,
  { addresses, ca, signal }: RequestOptions,
): Promise<Result<{ body: Buffer; headers: IncomingMessage['headers'] }, FetchFault>> {
  const request = httpsRequest(url, {
    // Opens a new connection, because a reused one may be to another address.
    agent: false,
    lookup: createLookup(addresses),
    // Overrides NODE_TLS_REJECT_UNAUTHORIZED in the environment.
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
      // This is the only event if the server switches protocols.
      request.on('close', () => resolve(undefined))
      request.end()
    })
    if (!response) return err('connection')
    const fault = findHeadersFault(response)
    if (fault) return err(fault)
    const body = await readBody(response)
    return body.ok ? ok({ body: body.value, headers: response.headers }) : body
  } finally {
    request.destroy()
  }
}

/** Creates a lookup that returns exactly these addresses, even if the name resolves to others in the meantime. */
const createLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, callback) => {
    const addressRecords = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
    if (all) callback(null, addressRecords)
    else callback(null, addressRecords[0]?.address ?? '', addressRecords[0]?.family)
  }

/** Matches `application/json` and types such as `application/jwk-set+json`, with or without parameters. */
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json[\t ]*(?:;|$)/i

function findHeadersFault({ statusCode, headers }: IncomingMessage): FetchFault | undefined {
  if (statusCode !== 200) return 'status'
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) return 'type'
  // A compressed body is refused, because decompression could make it grow without a bound.
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

/*
 * A canary is a token that nobody has. A command stores the canary to check that every instance uses the same token store as the
 * command. The command notifies the instances through PostgreSQL, and each instance writes to its own row whether it finds the
 * canary. The command therefore needs no connection to the instances, whose internal listeners may be on loopback.
 */
import type { Log } from '@plainpath/http'
import type { Database } from '@plainpath/postgres'
import type { KeyFollowerStore } from '../keys/key-follower-store.ts'
import type { TokenStore } from '../tokens/token-store.ts'

/** The NOTIFY channel on which commands request a canary check. */
const CANARY_CHANNEL = 'token_canary'

export type CanaryState = 'active' | 'inactive'

/** Matches the payload of a request: the request id, and the SHA-256 of the token in base64url. */
const REQUEST_PATTERN = /^([\w-]{1,40}) ([\w-]{43})$/

/**
 * Requests a report from every instance on whether it finds the token.
 *
 * @param requestId a unique id of 1 to 40 letters, digits, `_` and `-`
 */
export async function requestCanaryReports(db: Database, requestId: string, hash: Buffer): Promise<void> {
  await db.query('select pg_notify($1, $2)', [CANARY_CHANNEL, `${requestId} ${hash.toString('base64url')}`])
}

/**
 * Creates this instance's report on whether it finds the requested token.
 *
 * @returns undefined if the payload is not a valid request
 */
export async function createCanaryReport(
  payload: string,
  find: (hash: Buffer) => Promise<unknown>,
): Promise<string | undefined> {
  const [, requestId, hash] = REQUEST_PATTERN.exec(payload) ?? []
  if (requestId === undefined || hash === undefined) return undefined
  const token = await find(Buffer.from(hash, 'base64url'))
  return `${requestId} ${token === undefined ? 'inactive' : 'active'}`
}

/**
 * Creates an instance's listener, which responds to each valid request with a report. If it cannot report, it only logs that,
 * because the command repeats its request.
 */
export function createCanaryListener(
  {
    tokens,
    keyFollowers,
  }: { tokens: Pick<TokenStore, 'find'>; keyFollowers: Pick<KeyFollowerStore, 'reportCanary'> },
  instanceId: string,
  log: Log,
): { readonly [channel: string]: (payload: string) => void } {
  const handleRequest = async (payload: string) => {
    const report = await createCanaryReport(payload, tokens.find)
    if (report !== undefined) await keyFollowers.reportCanary(instanceId, report)
  }
  const logFailure = (error: unknown) => log.warn('this instance could not report on a canary', { error })
  return { [CANARY_CHANNEL]: (payload) => void handleRequest(payload).catch(logFailure) }
}

/**
 * Reads the canary's state from an instance's report.
 *
 * @returns undefined if the report is missing, or belongs to another request
 */
export function readCanaryState(report: string | undefined, requestId: string): CanaryState | undefined {
  const [reportedId, state] = report?.split(' ') ?? []
  if (reportedId !== requestId) return undefined
  return state === 'active' || state === 'inactive' ? state : undefined
}

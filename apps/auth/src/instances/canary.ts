/*
 * A canary is a token that nobody has. `auth stop` stores one before the revocation. Each instance must find the canary before
 * the revocation: this shows that it uses the same token store as the command. Afterwards, it must not find the canary any more.
 * `prove-revocation.ts` explains an exception.
 *
 * The command requests the reports by NOTIFY, and each instance records in its own row (`key_followers`) whether it finds the
 * canary. The command therefore needs no connection to the instances, whose internal listeners may be on loopback.
 */
import type { Log } from '@plainpath/http'
import type { Database } from '@plainpath/postgres'
import type { KeyFollowerStore } from '../keys/key-follower-store.ts'
import type { TokenStore } from '../tokens/token-store.ts'

/** The NOTIFY channel on which a command requests reports on a canary. */
const CANARY_CHANNEL = 'token_canary'

export type CanaryState = 'active' | 'inactive'

/** Matches the payload of a request: the request id, and the token hash in base64url. */
const REQUEST_PATTERN = /^([\w-]{1,40}) ([\w-]{43})$/

/**
 * Requests a report from every instance on whether it finds the canary.
 *
 * @param requestId a unique id of 1 to 40 letters, digits, `_` and `-`
 * @param tokenHash the hash under which the canary is stored: 32 bytes
 */
export async function requestCanaryReports(
  db: Database,
  requestId: string,
  tokenHash: Buffer,
): Promise<void> {
  const payload = `${requestId} ${tokenHash.toString('base64url')}`
  await db.query('select pg_notify($1, $2)', [CANARY_CHANNEL, payload])
}

/**
 * Creates this instance's report on whether it finds the canary.
 *
 * @returns the request id and the canary's state; undefined if the payload is not a valid request
 */
export async function createCanaryReport(
  payload: string,
  find: (tokenHash: Buffer) => Promise<unknown>,
): Promise<string | undefined> {
  const [, requestId, tokenHash] = REQUEST_PATTERN.exec(payload) ?? []
  if (requestId === undefined || tokenHash === undefined) return undefined
  const token = await find(Buffer.from(tokenHash, 'base64url'))
  return `${requestId} ${token === undefined ? 'inactive' : 'active'}`
}

/**
 * Creates the listeners of an instance, keyed by NOTIFY channel. The only listener stores a report for each valid request. A
 * failed report is only logged, because the command repeats the request.
 */
export function createCanaryListeners(
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

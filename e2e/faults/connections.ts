/*
 * Operations on the connections of people who signed in with an app. `operations.ts` uses and revokes their access
 * tokens.
 */
import {
  type Attempt,
  describeUnexpected,
  FORM_HEADERS,
  recordToken,
  removeLiveTokens,
  trackRequestInFlight,
} from './attempt.ts'
import { type KnownConnection, type Ledger, pickRandom } from './ledger.ts'
import { parseJsonObject } from './refusal.ts'

/** Creates the form fields that identify the app, which has no secret. */
export const createClientFields = ({ appId = '' }: Ledger) => ({ client_id: appId })

/** Ten seconds less than the minute for which an app may present a used refresh token again. */
export const REFRESH_GRACE_MS = 50_000
/** While at most this many connections are active, the load revokes none, so that some can be refreshed. */
const MIN_ACTIVE_CONNECTIONS = 5

/** Lists the connections without a request in flight whose refresh token must still work. */
const listActiveConnections = ({ connections }: Ledger) =>
  connections.filter(
    ({ revocationRequestedAt, refreshingSince = Number.POSITIVE_INFINITY, requestsInFlight }) =>
      revocationRequestedAt === undefined &&
      requestsInFlight === 0 &&
      performance.now() <= refreshingSince + REFRESH_GRACE_MS,
  )

/**
 * Prepares the refresh of a person's tokens, preferably of a connection whose last refresh failed, because an app would
 * repeat it. Returns undefined if there is no active connection.
 */
export function prepareRefresh(ledger: Ledger): Attempt | undefined {
  const active = listActiveConnections(ledger)
  const connection = active.find(({ refreshingSince }) => refreshingSince !== undefined) ?? pickRandom(active)
  if (!connection) return undefined
  connection.refreshingSince ??= performance.now()
  return trackRequestInFlight(connection, {
    request: {
      method: 'POST',
      path: '/oauth/token',
      headers: FORM_HEADERS,
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: connection.refreshToken,
        ...createClientFields(ledger),
      }).toString(),
    },
    check(response) {
      const { access_token: value, refresh_token: refreshToken } = parseJsonObject(response.text)
      if (response.status !== 200 || typeof value !== 'string' || typeof refreshToken !== 'string')
        return describeUnexpected(response)
      connection.refreshToken = refreshToken
      connection.refreshingSince = undefined
      recordToken(
        ledger,
        { value, owner: connection, isBound: false, requestedAt: response.startedAt },
        response,
      )
      return undefined
    },
  })
}

/**
 * Prepares the revocation of a connection's refresh token, and thereby of all its tokens. Returns undefined if the connection
 * is in use, if its last refresh failed, or if too few connections are active.
 */
export function prepareConnectionRevocation(
  ledger: Ledger,
  connection: KnownConnection,
): Attempt | undefined {
  const active = listActiveConnections(ledger)
  const isSettled = active.includes(connection) && connection.refreshingSince === undefined
  if (!isSettled || active.length <= MIN_ACTIVE_CONNECTIONS) return undefined
  connection.revocationRequestedAt = performance.now()
  const tokens = removeLiveTokens(ledger, connection)
  return trackRequestInFlight(connection, {
    request: {
      method: 'POST',
      path: '/oauth/revoke',
      headers: FORM_HEADERS,
      body: new URLSearchParams({ token: connection.refreshToken, ...createClientFields(ledger) }).toString(),
    },
    check(response) {
      if (response.status !== 200) return describeUnexpected(response)
      connection.revokedAt = response.endedAt
      ledger.revokedTokens.push(...tokens)
      return undefined
    },
  })
}

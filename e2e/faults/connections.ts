/*
 * The operations of the app with which people signed in. Its access tokens are used and revoked like agents' tokens.
 */
import {
  type Attempt,
  describeUnexpected,
  FORM_HEADERS,
  recordToken,
  removeLiveTokens,
  withOwner,
} from './attempt.ts'
import { type KnownConnection, type Ledger, pickRandom } from './ledger.ts'
import { parseJsonObject } from './refusal.ts'

/** Creates the form fields that identify the app, which has no secret. */
export const createClientFields = ({ appId = '' }: Ledger) => ({ client_id: appId })

/** Shorter than the grace period in which an app may repeat a refresh whose response was lost. */
const GRACE_MS = 50_000
/** The number of connections that the load never ends, so that some can always be refreshed. */
const REMAINING_CONNECTIONS = 5

const listActiveConnections = ({ connections }: Ledger) =>
  connections.filter(
    ({ endRequestedAt, refreshingSince = Number.POSITIVE_INFINITY, busy }) =>
      endRequestedAt === undefined && busy === 0 && !(performance.now() > refreshingSince + GRACE_MS),
  )

/** Refreshes a person's tokens. Prefers a connection whose last refresh received no response, as an app does. */
export function refresh(ledger: Ledger): Attempt | undefined {
  const active = listActiveConnections(ledger)
  const connection = active.find(({ refreshingSince }) => refreshingSince !== undefined) ?? pickRandom(active)
  if (!connection) return undefined
  connection.refreshingSince ??= performance.now()
  return withOwner(connection, {
    sent: {
      method: 'POST',
      path: '/oauth/token',
      headers: FORM_HEADERS,
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: connection.refreshToken,
        ...createClientFields(ledger),
      }).toString(),
    },
    read(response) {
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

/** Revokes the refresh token of a connection, which revokes all of the person's tokens with this app. */
export function endConnection(ledger: Ledger, connection: KnownConnection): Attempt | undefined {
  const active = listActiveConnections(ledger)
  const isSettled = active.includes(connection) && connection.refreshingSince === undefined
  if (!isSettled || active.length <= REMAINING_CONNECTIONS) return undefined
  connection.endRequestedAt = performance.now()
  const tokens = removeLiveTokens(ledger, connection)
  return withOwner(connection, {
    sent: {
      method: 'POST',
      path: '/oauth/revoke',
      headers: FORM_HEADERS,
      body: new URLSearchParams({ token: connection.refreshToken, ...createClientFields(ledger) }).toString(),
    },
    read(response) {
      if (response.status !== 200) return describeUnexpected(response)
      connection.endedAt = response.endedAt
      ledger.endedTokens.push(...tokens)
      return undefined
    },
  })
}

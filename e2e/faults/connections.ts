/*
 * The operations of the app that people signed in with. Its access tokens are used and revoked like those of agents.
 */
import {
  type Attempt,
  describeUnexpected,
  FORM,
  recordToken,
  removeLiveTokens,
  withOwner,
} from './attempt.ts'
import { type KnownConnection, type Ledger, pickRandom } from './ledger.ts'
import { jsonObject } from './refusal.ts'

export const ownClient = ({ appId = '' }: Ledger) => ({ client_id: appId })

/** Shorter than the time for which a refresh token works again whose tokens never arrived. */
const GRACE_MS = 50_000
/** So many connections are not ended, so that there are always some to refresh. */
const REMAINING_CONNECTIONS = 5

const listActiveConnections = ({ connections }: Ledger) =>
  connections.filter(
    ({ endRequestedAt, refreshingSince = Number.POSITIVE_INFINITY, busy }) =>
      endRequestedAt === undefined && busy === 0 && !(performance.now() > refreshingSince + GRACE_MS),
  )

/** Refreshes the tokens of a person; first those whose last refresh got no response, as an app does. */
export function refresh(ledger: Ledger): Attempt | undefined {
  const active = listActiveConnections(ledger)
  const connection = active.find(({ refreshingSince }) => refreshingSince !== undefined) ?? pickRandom(active)
  if (!connection) return undefined
  connection.refreshingSince ??= performance.now()
  return withOwner(connection, {
    sent: {
      method: 'POST',
      path: '/oauth/token',
      headers: FORM,
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: connection.refreshToken,
        ...ownClient(ledger),
      }).toString(),
    },
    read(response) {
      const { access_token: value, refresh_token: refreshToken } = jsonObject(response.text)
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

/** Gives up a connection by its refresh token, which ends all tokens of the person with this app. */
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
      headers: FORM,
      body: new URLSearchParams({ token: connection.refreshToken, ...ownClient(ledger) }).toString(),
    },
    read(response) {
      if (response.status !== 200) return describeUnexpected(response)
      connection.endedAt = response.endedAt
      ledger.endedTokens.push(...tokens)
      return undefined
    },
  })
}

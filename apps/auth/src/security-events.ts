import type { Log } from '@plainpath/http'
import type { TokenStop } from './tokens/token-store.ts'
import type { openStores } from './wire-stores.ts'

export const SECURITY_EVENTS = [
  'claim-made',
  'claim-ended',
  'claim-declined',
  'attempt-locked',
  'locked-attempt-tried',
  'keys-changed',
  'secret-added',
  'secret-ended',
  'client-ended',
  'clients-expired',
  'tokens-stopped',
] as const
type SecurityEvent = (typeof SECURITY_EVENTS)[number]
type Stores = Awaited<ReturnType<typeof openStores>>

/**
 * The stores, as the server uses them, with a line of the log for each thing that whoever watches over security wants to
 * know: `security event`, with the name of the event and our own ids. It is told when it is kept, and by the instance that
 * did it; of an emergency stop, by each instance that issues a token after it. Commands tell nothing here; keys and stops
 * have their audits.
 */
export function withSecurityEvents(stores: Stores, log: Log): Stores {
  const tell = (event: SecurityEvent, ids: Readonly<Record<string, string | number>>) =>
    log.info('security event', { event, ...ids })
  const { claims, attempts, store, secrets, expiring, tokens } = stores
  const stopSeen = onRise(({ epoch }) => tell('tokens-stopped', { epoch }))
  return {
    ...stores,
    claims: {
      ...claims,
      async redeem(asked) {
        const made = await claims.redeem(asked)
        if (made.ok) tell('claim-made', { client_id: made.value.agentId, registration_id: made.value.id })
        return made
      },
      async end(id, by, now) {
        const ended = await claims.end(id, by, now)
        if (ended) tell('claim-ended', { registration_id: id, by })
        return ended
      },
    },
    attempts: {
      ...attempts,
      async decline(id, now) {
        const declined = await attempts.decline(id, now)
        if (declined.ok) tell('claim-declined', { claim_attempt_id: id })
        return declined
      },
      async countTry(of, now) {
        const counted = await attempts.countTry(of, now)
        if (!counted.ok && counted.error === 'locked') tell('locked-attempt-tried', { client_id: of.agentId })
        return counted
      },
      async lockIfSpent(id) {
        await attempts.lockIfSpent(id)
        tell('attempt-locked', { claim_attempt_id: id })
      },
    },
    store: {
      ...store,
      async replaceKeys(id, keys) {
        const agent = await store.replaceKeys(id, keys)
        if (agent) tell('keys-changed', { client_id: id })
        return agent
      },
    },
    secrets: {
      async addSecret(id, secret, oldEndsAt) {
        const added = await secrets.addSecret(id, secret, oldEndsAt)
        if (added.ok) tell('secret-added', { client_id: id, secret_id: secret.id })
        return added
      },
      async endSecret(id, secretId, now, announce) {
        const ended = await secrets.endSecret(id, secretId, now, announce)
        if (ended.outcome === 'gone') tell('secret-ended', { client_id: id, secret_id: secretId })
        return ended
      },
    },
    expiring: {
      ...expiring,
      async expire(now, bounds, announceEnds) {
        const ended = await expiring.expire(now, bounds, announceEnds)
        if (ended.length > 0) tell('clients-expired', { count: ended.length })
        return ended
      },
    },
    async endAgent(id, status) {
      const ended = await stores.endAgent(id, status)
      if (ended) tell('client-ended', { client_id: id, how: status })
      return ended
    },
    tokens: {
      ...tokens,
      async stop() {
        const stop = await tokens.stop()
        stopSeen(stop)
        return stop
      },
    },
  }
}

/** Calls back when a stop is further than the last that was seen; the first that is seen may be long ago. */
function onRise(risen: (stop: TokenStop) => void): (stop: TokenStop) => void {
  const markOf = ({ epoch, issuedBefore }: TokenStop) => [epoch, issuedBefore?.getTime() ?? 0] as const
  let last: readonly [number, number] | undefined
  return (stop) => {
    const [epoch, before] = markOf(stop)
    if (last && (epoch > last[0] || before > last[1])) risen(stop)
    last = [Math.max(epoch, last?.[0] ?? 0), Math.max(before, last?.[1] ?? 0)]
  }
}

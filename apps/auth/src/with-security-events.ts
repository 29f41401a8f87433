import type { LogFields } from '@plainpath/http'
import type { TellSecurityEvent } from './security-events.ts'
import type { AppliedStop, StopScope } from './tokens/stop-store.ts'
import type { TokenStop } from './tokens/token-store.ts'
import type { openStores } from './wire/wire-stores.ts'

type Stores = Awaited<ReturnType<typeof openStores>>

/**
 * The stores, with a line for each thing that changes what may be done. It is told when it is kept, and by the
 * process that did it, as the ends of claims and clients are by the stores themselves; of an emergency stop, also by each instance that issues a token after it.
 */
export function withSecurityEvents(stores: Stores, tell: TellSecurityEvent): Stores {
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
    },
    attempts: toldAttempts(attempts, tell),
    store: {
      ...store,
      async replaceKeys(id, keys) {
        const agent = await store.replaceKeys(id, keys)
        if (agent) tell('keys-changed', { client_id: id })
        return agent
      },
      async enable(id, now) {
        const enabled = await store.enable(id, now)
        if (enabled) tell('client-enabled', { client_id: id })
        return enabled
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
    tokens: {
      ...tokens,
      async save(hash, token) {
        const stop = await tokens.save(hash, token)
        if (stop) stopSeen(stop)
        return stop
      },
    },
    ...toldByCommands(stores, tell),
  }
}

const toldAttempts = (attempts: Stores['attempts'], tell: TellSecurityEvent): Stores['attempts'] => ({
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
})

/** What only commands do. */
function toldByCommands(
  { keys, stops }: Pick<Stores, 'keys' | 'stops'>,
  tell: TellSecurityEvent,
): Pick<Stores, 'keys' | 'stops'> {
  return {
    stops: {
      ...stops,
      async stop(scope, options, announce) {
        const done = await stops.stop(scope, options, announce)
        if (done.ok && done.value.head !== undefined) tell('tokens-stopped', stopIds(scope, done.value))
        return done
      },
    },
    keys: {
      ...keys,
      async update(by, decide, options) {
        const done = await keys.update(by, decide, options)
        if (done.ok && done.value.head !== undefined)
          tell('signing-keys-changed', {
            step: done.value.change.step,
            kids: done.value.change.transitions.map(({ kid }) => kid),
          })
        return done
      },
      async rewrap(by, options) {
        const kids = await keys.rewrap(by, options)
        if (kids.length > 0 && !options?.trial) tell('signing-keys-changed', { step: 'rewrap', kids })
        return kids
      },
    },
  }
}

const stopIds = (scope: StopScope, { stopped }: AppliedStop): LogFields => ({
  scope: scope.kind,
  ...(stopped.kind === 'client' ? { client_id: stopped.clientId } : { epoch: stopped.stop.epoch }),
})

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

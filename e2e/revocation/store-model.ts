import type { Revocation, RevocationNotification } from '@plainpath/revocation'

interface StoreState {
  /** The number of the server (its replication ID) that created the mark. */
  readonly server: number
  readonly mark: string
  /** The number of the last notification. */
  number: number
  /** The number that each subscriber acknowledged last, by its id. */
  readonly subscribers: Map<string, number>
}

/** The data of a store. */
export interface StoreSnapshot {
  /** The content of the shared hash. */
  readonly state: StoreState | undefined
  /** The number of the server that stored each token. */
  readonly tokens: ReadonlyMap<string, number>
}

/**
 * Models the scripts of packages/revocation and the token store in memory. `store-model.redis.test.ts` compares the
 * scripts with the model.
 */
export function createStoreModel() {
  let server = 1
  let markCount = 0
  let state: StoreState | undefined
  let tokens = new Map<string, number>()
  /** Returns the state, unless another server created it. */
  const findCurrentState = () => (state?.server === server ? state : undefined)

  function ensureState(): StoreState {
    const current = findCurrentState()
    if (current) return current
    markCount += 1
    state = { server, mark: `mark-${markCount}`, number: 0, subscribers: new Map() }
    return state
  }

  return {
    save: (token: string) => void tokens.set(token, server),
    remove: (token: string) => void tokens.delete(token),
    /** A token counts only under the replication ID under which it was stored. */
    isActive: (token: string) => tokens.get(token) === server,
    ensureMark: () => ensureState().mark,
    publishRevocation(revoked: Revocation): RevocationNotification {
      const current = ensureState()
      current.number += 1
      return { mark: current.mark, number: current.number, revoked }
    },
    /** Counts the subscribers that have not acknowledged the number. The mark is empty if the store has none. */
    countPending(number: number) {
      const acknowledgedNumbers = [...(state?.subscribers.values() ?? [])]
      return {
        mark: findCurrentState()?.mark ?? '',
        pending: acknowledgedNumbers.filter((acknowledged) => acknowledged < number).length,
      }
    },
    /** Removes the subscribers that have not acknowledged the number. Returns how many. */
    removePending(mark: string, number: number): number {
      const current = findCurrentState()
      if (current?.mark !== mark) return 0
      const pendingSubscribers = [...current.subscribers].filter(([, acknowledged]) => acknowledged < number)
      for (const [id] of pendingSubscribers) current.subscribers.delete(id)
      return pendingSubscribers.length
    },
    /** Adds a subscriber, and removes its previous subscription. Returns undefined if the store has no mark. */
    subscribe(id: string, previous: string) {
      const current = findCurrentState()
      if (!current) return undefined
      current.subscribers.delete(previous)
      current.subscribers.set(id, current.number)
      return { mark: current.mark, number: current.number }
    },
    /** Records what a subscriber has seen. Returns the current number; undefined if the mark or the subscriber is unknown. */
    acknowledge(mark: string, id: string, lastSeen: number): number | undefined {
      const current = findCurrentState()
      const acknowledged = current?.subscribers.get(id)
      if (!current || current.mark !== mark || acknowledged === undefined) return undefined
      current.subscribers.set(id, Math.max(acknowledged, lastSeen))
      return current.number
    },
    copy: (): StoreSnapshot => ({
      state: state && { ...state, subscribers: new Map(state.subscribers) },
      tokens: new Map(tokens),
    }),
    /** Deletes all data like FLUSHALL. The server and its replication ID remain. */
    flush() {
      state = undefined
      tokens = new Map()
    },
    /** Restarts the store under a new replication ID, with the data of a snapshot or without data. */
    restart(snapshot?: StoreSnapshot) {
      server += 1
      state = snapshot?.state && { ...snapshot.state, subscribers: new Map(snapshot.state.subscribers) }
      tokens = new Map(snapshot?.tokens)
    },
  }
}

export type StoreModel = ReturnType<typeof createStoreModel>

import type { Revocation, RevocationNotification } from '@plainpath/revocation'

interface StoreState {
  readonly server: number
  readonly mark: string
  number: number
  readonly subscribers: Map<string, number>
}

/** The data of a store: the shared hash, and tokens with the number of the server (its replication ID) that stored them. */
export interface StoreSnapshot {
  readonly current: StoreState | undefined
  readonly tokens: ReadonlyMap<string, number>
}

/** Models the scripts of packages/revocation in memory. `store-model.redis.test.ts` compares the model with Redis. */
export function storeModel() {
  let server = 1
  let markCount = 0
  let state: StoreState | undefined
  let tokens = new Map<string, number>()
  const currentState = () => (state?.server === server ? state : undefined)

  function ensureState(): StoreState {
    const current = currentState()
    if (current) return current
    markCount += 1
    state = { server, mark: `mark-${markCount}`, number: 0, subscribers: new Map() }
    return state
  }

  return {
    save: (token: string) => void tokens.set(token, server),
    remove: (token: string) => void tokens.delete(token),
    isActive: (token: string) => tokens.get(token) === server,
    ensureMark: () => ensureState().mark,
    publishRevocation(ended: Revocation): RevocationNotification {
      const current = ensureState()
      current.number += 1
      return { mark: current.mark, number: current.number, revoked: ended }
    },
    countPending(number: number) {
      const subscribers = [...(state?.subscribers.values() ?? [])]
      return { mark: currentState()?.mark ?? '', pending: subscribers.filter((seen) => seen < number).length }
    },
    removePending(mark: string, number: number): number {
      const current = currentState()
      if (current?.mark !== mark) return 0
      const pendingSubscribers = [...current.subscribers].filter(([, seen]) => seen < number)
      for (const [id] of pendingSubscribers) current.subscribers.delete(id)
      return pendingSubscribers.length
    },
    subscribe(id: string, previous: string) {
      const current = currentState()
      if (!current) return undefined
      current.subscribers.delete(previous)
      current.subscribers.set(id, current.number)
      return { mark: current.mark, number: current.number }
    },
    acknowledge(mark: string, id: string, seen: number): number | undefined {
      const current = currentState()
      const acknowledged = current?.subscribers.get(id)
      if (!current || current.mark !== mark || acknowledged === undefined) return undefined
      current.subscribers.set(id, Math.max(acknowledged, seen))
      return current.number
    },
    copy: (): StoreSnapshot => ({
      current: state && { ...state, subscribers: new Map(state.subscribers) },
      tokens: new Map(tokens),
    }),
    /** FLUSHALL: the server continues without data. */
    flush() {
      state = undefined
      tokens = new Map()
    },
    /** Restarts under a new replication ID, with a snapshot, an older copy, or no data. */
    restart(snapshot?: StoreSnapshot) {
      server += 1
      state = snapshot?.current && { ...snapshot.current, subscribers: new Map(snapshot.current.subscribers) }
      tokens = new Map(snapshot?.tokens)
    },
  }
}

export type StoreModel = ReturnType<typeof storeModel>

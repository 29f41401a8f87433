import type { Revocation, RevocationNotification } from '@plainpath/revocation'

interface Life {
  readonly server: number
  readonly mark: string
  number: number
  readonly members: Map<string, number>
}

/** Everything a store holds: the shared hash, and tokens with the life of the server they were saved in. */
export interface Held {
  readonly life: Life | undefined
  readonly tokens: ReadonlyMap<string, number>
}

/** What the scripts of packages/revocation do, in memory; `redis-revocation-store.redis.test.ts` compares the two. */
export function storeModel() {
  let server = 1
  let marks = 0
  let life: Life | undefined
  let tokens = new Map<string, number>()
  const alive = () => (life?.server === server ? life : undefined)

  function begin(): Life {
    const known = alive()
    if (known) return known
    marks += 1
    life = { server, mark: `mark-${marks}`, number: 0, members: new Map() }
    return life
  }

  return {
    save: (token: string) => void tokens.set(token, server),
    remove: (token: string) => void tokens.delete(token),
    isActive: (token: string) => tokens.get(token) === server,
    look: () => begin().mark,
    raise(ended: Revocation): RevocationNotification {
      const current = begin()
      current.number += 1
      return { mark: current.mark, number: current.number, revoked: ended }
    },
    pending(number: number) {
      const members = [...(life?.members.values() ?? [])]
      return { mark: alive()?.mark ?? '', pending: members.filter((seen) => seen < number).length }
    },
    strikeOff(mark: string, number: number): number {
      const current = alive()
      if (current?.mark !== mark) return 0
      const silent = [...current.members].filter(([, seen]) => seen < number)
      for (const [id] of silent) current.members.delete(id)
      return silent.length
    },
    join(id: string, previous: string) {
      const current = alive()
      if (!current) return undefined
      current.members.delete(previous)
      current.members.set(id, current.number)
      return { mark: current.mark, number: current.number }
    },
    hear(mark: string, id: string, seen: number): number | undefined {
      const current = alive()
      const acknowledged = current?.members.get(id)
      if (!current || current.mark !== mark || acknowledged === undefined) return undefined
      current.members.set(id, Math.max(acknowledged, seen))
      return current.number
    },
    copy: (): Held => ({
      life: life && { ...life, members: new Map(life.members) },
      tokens: new Map(tokens),
    }),
    /** FLUSHALL: the server goes on, with nothing. */
    flush() {
      life = undefined
      tokens = new Map()
    },
    /** Another life of the server, which finds a snapshot or an older copy, or nothing. */
    restart(held?: Held) {
      server += 1
      life = held?.life && { ...held.life, members: new Map(held.life.members) }
      tokens = new Map(held?.tokens)
    },
  }
}

export type StoreModel = ReturnType<typeof storeModel>

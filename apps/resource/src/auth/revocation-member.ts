import type { Revocation, RevocationNotification } from '@plainpath/revocation'
import type { ActiveAnswer, Introspection } from './introspection.ts'

/** Something to ask of the store; its answer comes back together with it. */
export type Command = Join | Hear
export interface Join {
  readonly do: 'join'
  /** Of this membership; no other ever has it. */
  readonly id: string
  /** What the last membership was called, which ends. */
  readonly previous: string
  readonly sentAt: number
}
/** Acknowledges `seen`, and asks for a longer lease. */
export interface Hear {
  readonly do: 'hear'
  readonly id: string
  readonly mark: string
  readonly seen: number
  readonly sentAt: number
}

/** A look-up under way, that others may share while it is known. */
export interface LookUp {
  readonly hash: string
}

export type Asked =
  | { readonly how: 'kept'; readonly answer: ActiveAnswer }
  | { readonly how: 'shared'; readonly lookUp: LookUp }
  /** Ask, and say what came of it. */
  | { readonly how: 'new'; readonly lookUp: LookUp }
  /** Ask for this request alone. */
  | { readonly how: 'alone' }

interface Membership {
  readonly id: string
  readonly mark: string
}

/**
 * The memory of an API process for introspection answers, and the lease under which it may be used
 * (docs/revocation): no input or output and no clock, `now` is milliseconds that only rise.
 *
 * A request may use what is kept, or share a look-up, only while the lease is valid. A look-up that is forgotten is
 * shared by nobody afterwards, and its answer is not kept.
 */
export function revocationMember(options: {
  /** Nobody else's. */
  readonly name: string
  readonly leaseMs: number
  /** No answer is used for longer, whatever is heard. */
  readonly keepMs: number
  readonly mostKept: number
}) {
  const kept = keptAnswers(options.mostKept)
  const lookUps = new Map<string, LookUp>()
  let isConnected = false
  let memberships = 0
  let joining: Join | undefined
  let member: Membership | undefined
  let seen = 0
  let believedUntil = Number.NEGATIVE_INFINITY
  /** The last notice that overtook the answer to a join. */
  let overtook: RevocationNotification | undefined

  const isValid = (now: number) => now < believedUntil

  function forget(ended: Revocation): void {
    kept.forget(ended)
    // A look-up does not say whose token it is about until it is answered.
    if (ended.kind === 'token') lookUps.delete(ended.hash)
    else lookUps.clear()
  }

  function stopBelieving(): void {
    believedUntil = Number.NEGATIVE_INFINITY
    member = undefined
    joining = undefined
    overtook = undefined
  }

  function join(now: number): Command[] {
    stopBelieving()
    if (!isConnected) return []
    const previous = `${options.name}.${memberships}`
    memberships += 1
    joining = { do: 'join', id: `${options.name}.${memberships}`, previous, sentAt: now }
    return [joining]
  }

  const hear = ({ id, mark }: Membership, now: number): Command[] => [
    { do: 'hear', id, mark, seen, sentAt: now },
  ]

  return {
    isValid,
    get kept() {
      return kept.size
    },
    /** Notices can be heard from now on. */
    connected(now: number): Command[] {
      isConnected = true
      return join(now)
    },
    /** Nothing can be heard: nothing is believed either. @returns the id of the membership that ends */
    disconnected(): string | undefined {
      isConnected = false
      const id = member?.id
      stopBelieving()
      return id
    },
    joined(asked: Join, granted: { mark: string; number: number } | undefined, now: number): Command[] {
      if (asked.id !== joining?.id) return []
      joining = undefined
      if (!granted) return []
      // What was told before this membership was not heard: nothing from before it is used, or shared, any more.
      forget({ kind: 'everything' })
      member = { id: asked.id, mark: granted.mark }
      seen = granted.number
      believedUntil = asked.sentAt + options.leaseMs
      if (overtook?.mark !== granted.mark || overtook.number <= seen) return []
      seen = overtook.number
      return hear(member, now)
    },
    /** @param number of the store; undefined when this is no member any more */
    heard(asked: Hear, number: number | undefined, now: number): Command[] {
      if (!member || asked.id !== member.id) return []
      if (number === undefined || number > seen || number < asked.seen) return join(now)
      if (number === asked.seen) believedUntil = Math.max(believedUntil, asked.sentAt + options.leaseMs)
      return []
    },
    /** @param notice undefined for one that cannot be read */
    notice(notice: RevocationNotification | undefined, now: number): Command[] {
      if (joining) {
        overtook = notice
        return []
      }
      if (!member) return []
      if (notice?.mark !== member.mark) return join(now)
      if (notice.number <= seen) return []
      forget(notice.number === seen + 1 ? notice.revoked : { kind: 'everything' })
      seen = notice.number
      return hear(member, now)
    },
    /** Time to renew. */
    tick(now: number): Command[] {
      if (member) return hear(member, now)
      return joining ? [] : join(now)
    },
    /** What is kept, for whoever could as well ask. */
    find: (hash: string, now: number) => (isValid(now) ? kept.find(hash, now) : undefined),
    ask(hash: string, now: number): Asked {
      if (!isValid(now)) return { how: 'alone' }
      const answer = kept.find(hash, now)
      if (answer) return { how: 'kept', answer }
      const underWay = lookUps.get(hash)
      if (underWay) return { how: 'shared', lookUp: underWay }
      const lookUp = { hash }
      lookUps.set(hash, lookUp)
      return { how: 'new', lookUp }
    },
    /** @param answer undefined when there was none */
    answered(lookUp: LookUp, answer: Introspection | undefined, now: number): void {
      if (lookUps.get(lookUp.hash) !== lookUp) return
      lookUps.delete(lookUp.hash)
      if (!answer?.active || answer.endsToldBy === undefined || answer.endsToldBy !== member?.mark) return
      if (isValid(now)) kept.keep(lookUp.hash, answer, now + options.keepMs)
    },
  }
}

export type RevocationMember = ReturnType<typeof revocationMember>

/** Answers in memory under the hash of their token; the ones unused longest go when there are too many. */
function keptAnswers(most: number) {
  /** `until` is of the member's clock. */
  const kept = new Map<string, { readonly answer: ActiveAnswer; readonly until: number }>()
  return {
    get size() {
      return kept.size
    },
    find(hash: string, now: number): ActiveAnswer | undefined {
      const found = kept.get(hash)
      if (!found) return undefined
      kept.delete(hash)
      if (now >= found.until) return undefined
      // A Map lists what was put in last at the end.
      kept.set(hash, found)
      return found.answer
    },
    keep(hash: string, answer: ActiveAnswer, until: number): void {
      kept.delete(hash)
      kept.set(hash, { answer, until })
      if (kept.size <= most) return
      for (const [oldest] of kept) return void kept.delete(oldest)
    },
    forget(ended: Revocation): void {
      if (ended.kind === 'token') kept.delete(ended.hash)
      else if (ended.kind === 'everything') kept.clear()
      else for (const [hash, { answer }] of kept) if (answer.clientId === ended.id) kept.delete(hash)
    },
  }
}

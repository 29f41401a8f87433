import type { Revocation, RevocationNotification } from '@plainpath/revocation'
import type { ActiveIntrospection, Introspection } from './introspection.ts'

/** A command for the store. Its reply is passed back together with the command. */
export type Command = Subscribe | Acknowledge
export interface Subscribe {
  readonly do: 'subscribe'
  /** The id of the new subscription, used only once. */
  readonly id: string
  /** The id of the subscription that this one replaces. */
  readonly previous: string
  readonly sentAt: number
}
/** Acknowledges every notification up to the number `seen`, and renews the lease. */
export interface Acknowledge {
  readonly do: 'acknowledge'
  readonly id: string
  readonly mark: string
  readonly seen: number
  readonly sentAt: number
}

/** An introspection in flight. Requests with the same token may share it until a notification removes it. */
export interface InFlight {
  readonly hash: string
}

/** How a request gets the introspection of its token. */
export type Source =
  | { readonly from: 'cache'; readonly introspection: ActiveIntrospection }
  | { readonly from: 'shared'; readonly inFlight: InFlight }
  /** Introspect, then call `finish`. */
  | { readonly from: 'new'; readonly inFlight: InFlight }
  /** Introspect for this request alone: no lease is valid. */
  | { readonly from: 'uncached' }

interface Subscription {
  readonly id: string
  readonly mark: string
}

/**
 * The introspection cache of an API process, and the lease under which it may be used (docs/revocation). It is pure: it does
 * no input or output, and `now` is passed in as milliseconds of a monotonic clock.
 *
 * A request may use a cached introspection, or share one in flight, only while the lease is valid. A notification removes
 * what it revokes: requests no longer share a removed introspection, and its result is not cached.
 */
export function revocationSubscriber(options: {
  /** Unique among all processes. */
  readonly name: string
  readonly leaseMs: number
  /** The longest time for which an introspection is cached, whatever the notifications say. */
  readonly cacheMs: number
  readonly maxCached: number
}) {
  const cache = introspectionCache(options.maxCached)
  const inFlightByHash = new Map<string, InFlight>()
  let isConnected = false
  let subscriptions = 0
  let subscribing: Subscribe | undefined
  let subscription: Subscription | undefined
  let seen = 0
  let leaseUntil = Number.NEGATIVE_INFINITY
  /** The last notification that arrived before the reply to the pending subscribe command. */
  let early: RevocationNotification | undefined

  const isValid = (now: number) => now < leaseUntil

  function remove(revoked: Revocation): void {
    cache.remove(revoked)
    // An introspection in flight does not say which client its token belongs to.
    if (revoked.kind === 'token') inFlightByHash.delete(revoked.hash)
    else inFlightByHash.clear()
  }

  function dropLease(): void {
    leaseUntil = Number.NEGATIVE_INFINITY
    subscription = undefined
    subscribing = undefined
    early = undefined
  }

  function subscribe(now: number): Command[] {
    dropLease()
    if (!isConnected) return []
    const previous = `${options.name}.${subscriptions}`
    subscriptions += 1
    subscribing = { do: 'subscribe', id: `${options.name}.${subscriptions}`, previous, sentAt: now }
    return [subscribing]
  }

  const acknowledge = ({ id, mark }: Subscription, now: number): Command[] => [
    { do: 'acknowledge', id, mark, seen, sentAt: now },
  ]

  return {
    isValid,
    get size() {
      return cache.size
    },
    /** Call this once notifications can arrive. */
    connected(now: number): Command[] {
      isConnected = true
      return subscribe(now)
    },
    /** Drops the lease, since notifications can no longer arrive. @returns the id of the subscription that ends */
    disconnected(): string | undefined {
      isConnected = false
      const id = subscription?.id
      dropLease()
      return id
    },
    subscribed(
      command: Subscribe,
      granted: { mark: string; number: number } | undefined,
      now: number,
    ): Command[] {
      if (command.id !== subscribing?.id) return []
      subscribing = undefined
      if (!granted) return []
      // Notifications from before this subscription were not received, so nothing from before it may be used or shared.
      remove({ kind: 'everything' })
      subscription = { id: command.id, mark: granted.mark }
      seen = granted.number
      leaseUntil = command.sentAt + options.leaseMs
      if (early?.mark !== granted.mark || early.number <= seen) return []
      seen = early.number
      return acknowledge(subscription, now)
    },
    /** @param number the store's; undefined when the store does not know this subscription */
    acknowledged(command: Acknowledge, number: number | undefined, now: number): Command[] {
      if (!subscription || command.id !== subscription.id) return []
      if (number === undefined || number > seen || number < command.seen) return subscribe(now)
      if (number === command.seen) leaseUntil = Math.max(leaseUntil, command.sentAt + options.leaseMs)
      return []
    },
    /** @param notification undefined for one that cannot be parsed */
    notified(notification: RevocationNotification | undefined, now: number): Command[] {
      if (subscribing) {
        early = notification
        return []
      }
      if (!subscription) return []
      if (notification?.mark !== subscription.mark) return subscribe(now)
      if (notification.number <= seen) return []
      remove(notification.number === seen + 1 ? notification.revoked : { kind: 'everything' })
      seen = notification.number
      return acknowledge(subscription, now)
    },
    /** Renews the lease. */
    tick(now: number): Command[] {
      if (subscription) return acknowledge(subscription, now)
      return subscribing ? [] : subscribe(now)
    },
    /** Finds a cached introspection, for a caller that can also introspect. */
    find: (hash: string, now: number) => (isValid(now) ? cache.find(hash, now) : undefined),
    /** Says where a request gets the introspection of a token, and records a new one in flight. */
    begin(hash: string, now: number): Source {
      if (!isValid(now)) return { from: 'uncached' }
      const introspection = cache.find(hash, now)
      if (introspection) return { from: 'cache', introspection }
      const shared = inFlightByHash.get(hash)
      if (shared) return { from: 'shared', inFlight: shared }
      const inFlight = { hash }
      inFlightByHash.set(hash, inFlight)
      return { from: 'new', inFlight }
    },
    /** Ends an introspection that `begin` recorded, and caches its result if that is safe. @param result undefined if it failed */
    finish(inFlight: InFlight, result: Introspection | undefined, now: number): void {
      if (inFlightByHash.get(inFlight.hash) !== inFlight) return
      inFlightByHash.delete(inFlight.hash)
      if (!result?.active || result.revocationMark === undefined) return
      if (result.revocationMark !== subscription?.mark) return
      if (isValid(now)) cache.put(inFlight.hash, result, now + options.cacheMs)
    },
  }
}

export type RevocationSubscriber = ReturnType<typeof revocationSubscriber>

/** Introspections by the hash of their token. When there are too many, the least recently used one is removed. */
function introspectionCache(max: number) {
  const entries = new Map<string, { readonly introspection: ActiveIntrospection; readonly until: number }>()
  return {
    get size() {
      return entries.size
    },
    find(hash: string, now: number): ActiveIntrospection | undefined {
      const entry = entries.get(hash)
      if (!entry) return undefined
      entries.delete(hash)
      if (now >= entry.until) return undefined
      // A Map iterates in the order of insertion, so the entry moves to the end.
      entries.set(hash, entry)
      return entry.introspection
    },
    put(hash: string, introspection: ActiveIntrospection, until: number): void {
      entries.delete(hash)
      entries.set(hash, { introspection, until })
      if (entries.size <= max) return
      for (const [oldest] of entries) return void entries.delete(oldest)
    },
    remove(revoked: Revocation): void {
      if (revoked.kind === 'token') entries.delete(revoked.hash)
      else if (revoked.kind === 'everything') entries.clear()
      else
        for (const [hash, { introspection }] of entries)
          if (introspection.clientId === revoked.id) entries.delete(hash)
    },
  }
}

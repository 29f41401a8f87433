import type { Revocation, RevocationNotification } from '@plainpath/revocation'
import type { ActiveIntrospection, Introspection } from './introspection.ts'

/** A command for the store. The caller passes the reply and the command to `onSubscribed` or `onAcknowledged`. */
export type Command = Subscribe | Acknowledge
export interface Subscribe {
  readonly do: 'subscribe'
  /** The id of the new subscription, used only once. */
  readonly id: string
  /** The id of the earlier subscription that the new one replaces. The store ignores an id that it does not know. */
  readonly previous: string
  /** When the command was created. The lease counts from then, so it has expired here before a revoker stops waiting for it. */
  readonly sentAt: number
}
/** Acknowledges all notifications up to the number `lastSeen`, and renews the lease. */
export interface Acknowledge {
  readonly do: 'acknowledge'
  readonly id: string
  readonly mark: string
  readonly lastSeen: number
  /** As in `Subscribe`. */
  readonly sentAt: number
}

/** An introspection in flight. Requests with the same token may share it until a notification removes it. */
export interface InFlightIntrospection {
  readonly hash: string
}

/** The source of the introspection for a request. */
export type IntrospectionSource =
  | { readonly from: 'cache'; readonly introspection: ActiveIntrospection }
  | { readonly from: 'shared'; readonly inFlight: InFlightIntrospection }
  /** Introspect the token, then call `finishIntrospection`. */
  | { readonly from: 'new'; readonly inFlight: InFlightIntrospection }
  /** Introspect the token for this request alone, because no lease is valid. */
  | { readonly from: 'uncached' }

interface Subscription {
  readonly id: string
  /** Identifies the store's sequence of notification numbers. A store that lost its data has another mark. */
  readonly mark: string
}

/**
 * The introspection cache of an API process, and the lease under which it may be used (docs/revocation). It performs no I/O: the
 * methods return the commands to send. `now` is in milliseconds of a monotonic clock.
 *
 * A request may use a cached introspection, or share one in flight, only while the lease is valid. A notification removes the
 * introspections that it revokes: requests no longer share them, and their results are not cached.
 */
export interface RevocationSubscriber {
  /** Returns whether the lease is valid. */
  isValid(now: number): boolean
  /** The number of cached introspections. */
  readonly size: number
  /** Subscribes. Call it once notifications can arrive. */
  onConnected(now: number): Command[]
  /**
   * Drops the lease, because notifications can no longer arrive.
   *
   * @returns the id of the subscription that ended; undefined without one
   */
  onDisconnected(): string | undefined
  /** Starts the lease. `grant` is undefined if the store refused the subscription. */
  onSubscribed(
    command: Subscribe,
    grant: { mark: string; number: number } | undefined,
    now: number,
  ): Command[]
  /**
   * Extends the lease if the store has published nothing after the acknowledged notification. Subscribes again if a notification
   * was lost or the store does not know the subscription.
   *
   * @param number the number of the store's last notification; undefined if the store does not know this subscription
   */
  onAcknowledged(command: Acknowledge, number: number | undefined, now: number): Command[]
  /**
   * Removes the introspections that a notification revokes, and acknowledges the notification. Removes all introspections if the
   * number shows that an earlier notification was lost. Subscribes again if the notification has another mark or cannot
   * be parsed.
   *
   * @param notification undefined for a notification that cannot be parsed
   */
  onNotification(notification: RevocationNotification | undefined, now: number): Command[]
  /** Renews the lease. Without a subscription, subscribes. */
  tick(now: number): Command[]
  /** Finds a cached introspection. Returns undefined if there is none, or if the lease is not valid. */
  findCached(hash: string, now: number): ActiveIntrospection | undefined
  /** Decides how a request gets the introspection of a token. Records a new introspection as in flight. */
  beginIntrospection(hash: string, now: number): IntrospectionSource
  /**
   * Ends an introspection that `beginIntrospection` recorded. Caches the result of an active token if no notification removed the
   * introspection, this store publishes the token's revocation, and the lease is valid.
   *
   * @param result undefined if the introspection failed
   */
  finishIntrospection(inFlight: InFlightIntrospection, result: Introspection | undefined, now: number): void
}

export interface RevocationSubscriberOptions {
  /** A name that is unique to this process. The ids of its subscriptions begin with it. */
  readonly name: string
  readonly leaseMs: number
  /** The maximum time that an introspection is cached. */
  readonly cacheMs: number
  /** The maximum memory of the cached introspections, as `estimateEntryBytes` estimates it. */
  readonly maxCachedBytes: number
  /** Passed in, because the mutants of `e2e/revocation` load this file without its packages. */
  readonly estimateEntryBytes: (hash: string, introspection: ActiveIntrospection) => number
}

/** Creates a subscriber. It has no subscription and no lease until it is connected. */
export function createRevocationSubscriber(options: RevocationSubscriberOptions): RevocationSubscriber {
  const cache = createIntrospectionCache(options)
  const inFlightByHash = new Map<string, InFlightIntrospection>()
  let isConnected = false
  let subscriptionCount = 0
  let pendingSubscribe: Subscribe | undefined
  let subscription: Subscription | undefined
  let lastSeen = 0
  let leaseUntil = Number.NEGATIVE_INFINITY
  /** The last notification that arrived before the reply to the pending subscribe command. */
  let earlyNotification: RevocationNotification | undefined

  const isValid = (now: number) => now < leaseUntil

  function remove(revoked: Revocation): void {
    cache.remove(revoked)
    // The client of a token is unknown while its introspection is in flight.
    if (revoked.kind === 'token') inFlightByHash.delete(revoked.hash)
    else inFlightByHash.clear()
  }

  function dropLease(): void {
    leaseUntil = Number.NEGATIVE_INFINITY
    subscription = undefined
    pendingSubscribe = undefined
    earlyNotification = undefined
  }

  function subscribe(now: number): Command[] {
    dropLease()
    if (!isConnected) return []
    const previous = `${options.name}.${subscriptionCount}`
    subscriptionCount += 1
    pendingSubscribe = { do: 'subscribe', id: `${options.name}.${subscriptionCount}`, previous, sentAt: now }
    return [pendingSubscribe]
  }

  const acknowledge = ({ id, mark }: Subscription, now: number): Command[] => [
    { do: 'acknowledge', id, mark, lastSeen, sentAt: now },
  ]

  return {
    isValid,
    get size() {
      return cache.size
    },
    onConnected(now) {
      isConnected = true
      return subscribe(now)
    },
    onDisconnected() {
      isConnected = false
      const id = subscription?.id
      dropLease()
      return id
    },
    onSubscribed(command, grant, now) {
      if (command.id !== pendingSubscribe?.id) return []
      pendingSubscribe = undefined
      if (!grant) return []
      // Notifications from before this subscription were not received, so no introspection from before it may be used or shared.
      remove({ kind: 'everything' })
      subscription = { id: command.id, mark: grant.mark }
      lastSeen = grant.number
      leaseUntil = command.sentAt + options.leaseMs
      if (earlyNotification?.mark !== grant.mark || earlyNotification.number <= lastSeen) return []
      lastSeen = earlyNotification.number
      return acknowledge(subscription, now)
    },
    onAcknowledged(command, number, now) {
      if (!subscription || command.id !== subscription.id) return []
      if (number === undefined || number > lastSeen || number < command.lastSeen) return subscribe(now)
      if (number === command.lastSeen) leaseUntil = Math.max(leaseUntil, command.sentAt + options.leaseMs)
      return []
    },
    onNotification(notification, now) {
      if (pendingSubscribe) {
        earlyNotification = notification
        return []
      }
      if (!subscription) return []
      if (notification?.mark !== subscription.mark) return subscribe(now)
      if (notification.number <= lastSeen) return []
      remove(notification.number === lastSeen + 1 ? notification.revoked : { kind: 'everything' })
      lastSeen = notification.number
      return acknowledge(subscription, now)
    },
    tick(now) {
      if (subscription) return acknowledge(subscription, now)
      return pendingSubscribe ? [] : subscribe(now)
    },
    findCached: (hash, now) => (isValid(now) ? cache.find(hash, now) : undefined),
    beginIntrospection(hash, now) {
      if (!isValid(now)) return { from: 'uncached' }
      const introspection = cache.find(hash, now)
      if (introspection) return { from: 'cache', introspection }
      const shared = inFlightByHash.get(hash)
      if (shared) return { from: 'shared', inFlight: shared }
      const inFlight = { hash }
      inFlightByHash.set(hash, inFlight)
      return { from: 'new', inFlight }
    },
    finishIntrospection(inFlight, result, now) {
      if (inFlightByHash.get(inFlight.hash) !== inFlight) return
      inFlightByHash.delete(inFlight.hash)
      if (!result?.active || result.revocationMark === undefined) return
      if (result.revocationMark !== subscription?.mark) return
      if (isValid(now)) cache.put(inFlight.hash, result, now + options.cacheMs)
    },
  }
}

/** Creates a cache of introspections by token hash. When it is full, the least recently used entries are removed. */
function createIntrospectionCache({
  maxCachedBytes,
  estimateEntryBytes,
}: Pick<RevocationSubscriberOptions, 'maxCachedBytes' | 'estimateEntryBytes'>) {
  const entries = new Map<
    string,
    { readonly introspection: ActiveIntrospection; readonly expiresAt: number; readonly bytes: number }
  >()
  let totalBytes = 0

  function remove(hash: string): void {
    totalBytes -= entries.get(hash)?.bytes ?? 0
    entries.delete(hash)
  }

  return {
    get size() {
      return entries.size
    },
    find(hash: string, now: number): ActiveIntrospection | undefined {
      const entry = entries.get(hash)
      if (!entry) return undefined
      if (now >= entry.expiresAt) {
        remove(hash)
        return undefined
      }
      // A Map iterates in insertion order, so the entry moves to the end.
      entries.delete(hash)
      entries.set(hash, entry)
      return entry.introspection
    },
    put(hash: string, introspection: ActiveIntrospection, expiresAt: number): void {
      remove(hash)
      const bytes = estimateEntryBytes(hash, introspection)
      entries.set(hash, { introspection, expiresAt, bytes })
      totalBytes += bytes
      for (const [oldest] of entries) {
        if (totalBytes <= maxCachedBytes) return
        remove(oldest)
      }
    },
    remove(revoked: Revocation): void {
      if (revoked.kind === 'token') return remove(revoked.hash)
      for (const [hash, { introspection }] of entries)
        if (revoked.kind === 'everything' || introspection.clientId === revoked.id) remove(hash)
    },
  }
}

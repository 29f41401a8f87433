import { setTimeout as sleep } from 'node:timers/promises'
import type { Log, Metrics } from '@plainpath/http'
import {
  ACKNOWLEDGE_SCRIPT,
  getRevocationChannel,
  getRevocationKey,
  parseNotification,
  type RevocationIntervals,
  type RevocationNotification,
  type Script,
  SUBSCRIBE_SCRIPT,
  UNSUBSCRIBE_SCRIPT,
} from '@plainpath/revocation'
import { createClient } from 'redis'
import type { Acknowledge, Command, RevocationSubscriber, Subscribe } from './revocation-subscriber.ts'

interface FollowDeps {
  readonly subscriber: RevocationSubscriber
  /** The name of the hash and the channel in Redis. */
  readonly name: string
  readonly intervals: RevocationIntervals
  /** The subscriber's clock: milliseconds of a monotonic clock. */
  readonly clock: { now(): number }
  readonly log: Log
  readonly metrics: Pick<Metrics, 'createGauge'>
}

/**
 * After this many renewal intervals without a reply or a notification, the connection counts as lost. The Redis client's own
 * timeout does not help here, because it restarts whenever a command is sent.
 */
const MAX_SILENT_INTERVALS = 3
/** The pause before the next connection doubles with each failure, between these bounds. */
const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 1_000
const UNSUBSCRIBE_TIMEOUT_MS = 200
const CONNECT_TIMEOUT_MS = 1_000

/**
 * Receives revocations until the result is disposed of. Notifications and renewals share one connection, so a process that
 * receives no notifications cannot renew its lease either. When the connection fails, opens another and subscribes again. While
 * the process has no lease, it introspects each token.
 */
export function followRevocations(url: string, deps: FollowDeps): AsyncDisposable {
  const shutdown = new AbortController()
  // Registered only here: without Redis there is no lease, and the alert `NoLease` must not fire.
  const setLeaseGauge = deps.metrics.createGauge(
    'revocation_lease_valid',
    '1 when cached introspections may be used',
  )
  const setLease = (isValid: boolean) => setLeaseGauge(isValid ? 1 : 0)
  setLease(false)
  let failureCount = 0

  function handleSubscribed(): void {
    if (failureCount > 0) deps.log.info('the API receives revocations again')
    failureCount = 0
  }
  function handleFailure(error: unknown): void {
    if (failureCount === 0)
      deps.log.warn('the API cannot receive revocations, so it introspects each token', { error })
    failureCount += 1
  }

  async function receiveUntilShutdown(): Promise<void> {
    while (!shutdown.signal.aborted) {
      const connection = createRevocationConnection(url, deps.name)
      await receive(connection, {
        ...deps,
        setLease,
        onSubscribed: handleSubscribed,
        signal: shutdown.signal,
      }).catch(handleFailure)
      const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** failureCount, MAX_PAUSE_MS)
      // The sleep rejects only when the shutdown aborts it.
      await sleep(pauseMs, undefined, { signal: shutdown.signal }).catch(() => undefined)
    }
  }

  const receiveLoop = receiveUntilShutdown()
  return {
    async [Symbol.asyncDispose]() {
      shutdown.abort()
      await receiveLoop
    },
  }
}

/**
 * Receives revocations on one connection until `signal` is aborted.
 *
 * @throws when the connection cannot be opened, or fails
 */
async function receive(
  connection: ReturnType<typeof createRevocationConnection>,
  deps: FollowDeps & {
    setLease(isValid: boolean): void
    onSubscribed(): void
    signal: AbortSignal
  },
): Promise<void> {
  const { subscriber, clock, intervals, signal } = deps
  const completion = Promise.withResolvers<void>()
  // Prevents an unhandled rejection while nothing awaits the promise.
  completion.promise.catch(() => undefined)
  let lastReceivedAt = clock.now()
  let isOpen = false

  async function perform(command: Command): Promise<Command[]> {
    if (command.do === 'acknowledge') {
      const lastNumber = await connection.acknowledge(command)
      return subscriber.onAcknowledged(command, lastNumber, clock.now())
    }
    const grant = await connection.subscribe(command)
    if (grant) deps.onSubscribed()
    return subscriber.onSubscribed(command, grant, clock.now())
  }
  const send = (commands: readonly Command[]): void => {
    for (const command of commands) perform(command).then(handleReply).catch(completion.reject)
  }
  function handleReply(commands: readonly Command[]): void {
    lastReceivedAt = clock.now()
    send(commands)
  }
  const tick = () => {
    deps.setLease(subscriber.isValid(clock.now()))
    if (clock.now() - lastReceivedAt > MAX_SILENT_INTERVALS * intervals.renewMs)
      completion.reject(new Error('the revocation store did not reply in time'))
    else if (isOpen) send(subscriber.tick(clock.now()))
  }

  const stop = () => completion.resolve()
  signal.addEventListener('abort', stop)
  connection.onFailure(completion.reject)
  const timer = setInterval(tick, intervals.renewMs)
  try {
    const connectAttempt = connection.open((notification) =>
      handleReply(subscriber.onNotification(notification, clock.now())),
    )
    await Promise.race([connectAttempt, completion.promise])
    isOpen = true
    handleReply(subscriber.onConnected(clock.now()))
    await completion.promise
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', stop)
    deps.setLease(false)
    const id = subscriber.onDisconnected()
    // Without a lease, this process uses no cached introspection, so a revocation need not wait for its acknowledgement any more.
    if (id !== undefined)
      await Promise.race([
        connection.unsubscribe(id),
        sleep(UNSUBSCRIBE_TIMEOUT_MS, undefined, { ref: false }),
      ])
    connection.close()
  }
}

/**
 * Creates a connection to the revocation store. It does not reconnect.
 *
 * @param name the name of the Redis hash and channel
 */
function createRevocationConnection(url: string, name: string) {
  const client = createClient({
    url,
    // With RESP3, a connection can send other commands while it is subscribed to a channel.
    RESP: 3,
    name: 'plainpath-revocations',
    disableOfflineQueue: true,
    commandsQueueMaxLength: 1_000,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
  })
  const run = async <Reply>({ lua, reply }: Script<Reply>, ...args: string[]): Promise<Reply> =>
    reply.parse(await client.eval(lua, { keys: [getRevocationKey(name)], arguments: args }))
  return {
    /** Connects, and passes each notification to `onNotification`. Passes undefined if a notification cannot be parsed. */
    async open(onNotification: (notification: RevocationNotification | undefined) => void): Promise<void> {
      await client.connect()
      await client.subscribe(getRevocationChannel(name), (text: string) =>
        onNotification(parseNotification(text)),
      )
    },
    /** Calls `listener` when the connection fails, possibly more than once. */
    onFailure(listener: (error: Error) => void): void {
      client.on('error', listener)
      client.on('end', () => listener(new Error('the connection was closed')))
    },
    /** Subscribes. Returns undefined if the store has no revocation state, because no authorization server publishes there. */
    async subscribe({ id, previous }: Subscribe) {
      const grant = await run(SUBSCRIBE_SCRIPT, id, previous)
      return grant ? { mark: grant[0], number: grant[1] } : undefined
    },
    /** Acknowledges notifications. Returns the store's last notification number; undefined for an unknown subscription. */
    acknowledge: async ({ mark, id, lastSeen }: Acknowledge) =>
      (await run(ACKNOWLEDGE_SCRIPT, mark, id, String(lastSeen))) ?? undefined,
    /**
     * Removes the subscription from the store's list. A failure is ignored: revocations then wait until the lease has expired.
     */
    async unsubscribe(id: string): Promise<void> {
      if (client.isReady) await run(UNSUBSCRIBE_SCRIPT, id).catch(() => undefined)
    },
    close() {
      if (client.isOpen) client.destroy()
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@plainpath/http'
import {
  ACKNOWLEDGE,
  parseNotification,
  type RevocationIntervals,
  type RevocationNotification,
  revocationChannel,
  revocationKey,
  type Script,
  SUBSCRIBE,
  UNSUBSCRIBE,
} from '@plainpath/revocation'
import { createClient } from 'redis'
import type { IntrospectionMetrics } from './introspection-client.ts'
import type { Acknowledge, Command, RevocationSubscriber, Subscribe } from './revocation-subscriber.ts'

interface FollowDeps {
  readonly subscriber: RevocationSubscriber
  /** The name of the hash and the channel in Redis. */
  readonly name: string
  readonly intervals: RevocationIntervals
  /** The subscriber's clock: milliseconds of a monotonic clock. */
  readonly clock: { now(): number }
  readonly log: Log
  readonly metrics: Pick<IntrospectionMetrics, 'lease'>
}

/**
 * After this many renewals without a reply the connection counts as lost. The Redis client's own timeout does not help here,
 * since it restarts with each command that is sent.
 */
const MAX_UNANSWERED_RENEWALS = 3
const MAX_PAUSE_MS = 1_000
const UNSUBSCRIBE_TIMEOUT_MS = 200
const CONNECT_TIMEOUT_MS = 1_000

/**
 * Receives revocations until it is disposed of. Notifications and renewals use one connection, so that a process which receives
 * no notifications cannot renew its lease either. After the first failure of a connection it opens another one and subscribes
 * again. While there is none, each token is introspected.
 */
export function followRevocations(url: string, deps: FollowDeps): AsyncDisposable {
  const stopping = new AbortController()
  let failures = 0

  function subscribed(): void {
    if (failures > 0) deps.log.info('receives revocations again')
    failures = 0
  }
  function failed(error: unknown): void {
    if (failures === 0) deps.log.warn('cannot receive revocations: introspects each token', { error })
    failures += 1
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const connection = revocationConnection(url, deps.name)
      await receive(connection, { ...deps, subscribed, signal: stopping.signal }).catch(failed)
      const pause = Math.min(50 * 2 ** Math.min(failures, 10), MAX_PAUSE_MS)
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const running = run()
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await running
    },
  }
}

/** Receives revocations on one connection until `signal` is aborted. @throws when the connection cannot be opened, or is lost */
async function receive(
  connection: ReturnType<typeof revocationConnection>,
  deps: FollowDeps & { subscribed(): void; signal: AbortSignal },
): Promise<void> {
  const { subscriber, clock, intervals, signal } = deps
  const end = Promise.withResolvers<void>()
  end.promise.catch(() => undefined)
  let repliedAt = clock.now()
  let isOpen = false

  async function perform(command: Command): Promise<Command[]> {
    if (command.do === 'acknowledge') {
      const number = await connection.acknowledge(command)
      return subscriber.acknowledged(command, number, clock.now())
    }
    const granted = await connection.subscribe(command)
    if (granted) deps.subscribed()
    return subscriber.subscribed(command, granted, clock.now())
  }
  const send = (commands: readonly Command[]): void => {
    for (const command of commands) perform(command).then(handleReply).catch(end.reject)
  }
  function handleReply(commands: readonly Command[]): void {
    repliedAt = clock.now()
    send(commands)
  }
  const tick = () => {
    deps.metrics.lease(subscriber.isValid(clock.now()))
    if (clock.now() - repliedAt > MAX_UNANSWERED_RENEWALS * intervals.renewMs)
      end.reject(new Error('the store did not reply in time'))
    else if (isOpen) send(subscriber.tick(clock.now()))
  }

  const stop = () => end.resolve()
  signal.addEventListener('abort', stop)
  connection.onLost(end.reject)
  const timer = setInterval(tick, intervals.renewMs)
  try {
    const opening = connection.open((notification) =>
      handleReply(subscriber.notified(notification, clock.now())),
    )
    await Promise.race([opening, end.promise])
    isOpen = true
    handleReply(subscriber.connected(clock.now()))
    await end.promise
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', stop)
    deps.metrics.lease(false)
    const id = subscriber.disconnected()
    // The lease is dropped, so revocations need not wait for this subscriber any more.
    if (id !== undefined)
      await Promise.race([
        connection.unsubscribe(id),
        sleep(UNSUBSCRIBE_TIMEOUT_MS, undefined, { ref: false }),
      ])
    connection.close()
  }
}

/** Creates one connection to the revocation store. It does not reconnect. @param name of the hash and the channel */
function revocationConnection(url: string, name: string) {
  const client = createClient({
    url,
    RESP: 3,
    name: 'plainpath-revocations',
    disableOfflineQueue: true,
    commandsQueueMaxLength: 1_000,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
  })
  const run = async <Reply>({ lua, reply }: Script<Reply>, ...args: string[]): Promise<Reply> =>
    reply.parse(await client.eval(lua, { keys: [revocationKey(name)], arguments: args }))
  return {
    /** Connects and listens. @param onNotification gets each notification, or undefined for one that cannot be parsed */
    async open(onNotification: (notification: RevocationNotification | undefined) => void): Promise<void> {
      await client.connect()
      await client.subscribe(revocationChannel(name), (text: string) =>
        onNotification(parseNotification(text)),
      )
    },
    /** Calls `listener` once or more when the connection has failed. */
    onLost(listener: (error: Error) => void): void {
      client.on('error', listener)
      client.on('end', () => listener(new Error('the connection was closed')))
    },
    /** @returns undefined when no authorization server publishes revocations in this store */
    async subscribe({ id, previous }: Subscribe) {
      const granted = await run(SUBSCRIBE, id, previous)
      return granted ? { mark: granted[0], number: granted[1] } : undefined
    },
    /** @returns the store's number; undefined when the store does not know the subscription */
    acknowledge: async ({ mark, id, seen }: Acknowledge) =>
      (await run(ACKNOWLEDGE, mark, id, String(seen))) ?? undefined,
    /** Removes the subscription from the list, if the store can be reached. */
    async unsubscribe(id: string): Promise<void> {
      if (client.isReady) await run(UNSUBSCRIBE, id).catch(() => undefined)
    },
    close() {
      if (client.isOpen) client.destroy()
    },
  }
}

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
import type { Command, Hear, Join, RevocationMember } from './revocation-member.ts'

interface FollowDeps {
  readonly member: RevocationMember
  /** Of the hash and the channel in Redis. */
  readonly name: string
  readonly intervals: RevocationIntervals
  /** The member's: milliseconds that only rise. */
  readonly clock: { now(): number }
  readonly log: Log
  readonly metrics: Pick<IntrospectionMetrics, 'lease'>
}

/**
 * The number of renewals without a reply after which a connection is given up. The client's own time-out is of no use
 * here: it begins anew with whatever is sent.
 */
const LOST_RENEWALS = 3
const LONGEST_PAUSE_MS = 1_000
const LEAVE_TIMEOUT_MS = 200
const CONNECT_TIMEOUT_MS = 1_000

/**
 * Follows revocations until disposed: notices and renewals on one connection, so that whoever hears nothing renews
 * nothing. A connection is used until the first failure; then another one is made and the member joins anew. While
 * there is none, each token is introspected.
 */
export function followRevocations(url: string, deps: FollowDeps): AsyncDisposable {
  const stopping = new AbortController()
  let failures = 0

  function joined(): void {
    if (failures > 0) deps.log.info('revocations are followed again')
    failures = 0
  }
  function failed(error: unknown): void {
    if (failures === 0) deps.log.warn('revocations are not followed: each token is introspected', { error })
    failures += 1
  }

  async function follow(): Promise<void> {
    while (!stopping.signal.aborted) {
      const connection = revocationConnection(url, deps.name)
      await followOn(connection, { ...deps, joined, signal: stopping.signal }).catch(failed)
      const pause = Math.min(50 * 2 ** Math.min(failures, 10), LONGEST_PAUSE_MS)
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const following = follow()
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await following
    },
  }
}

/** Until `signal` says so. @throws when the connection is lost, or cannot be made */
async function followOn(
  connection: ReturnType<typeof revocationConnection>,
  deps: FollowDeps & { joined(): void; signal: AbortSignal },
): Promise<void> {
  const { member, clock, intervals, signal } = deps
  const over = Promise.withResolvers<void>()
  over.promise.catch(() => undefined)
  let answeredAt = clock.now()
  let isOpen = false

  async function perform(command: Command): Promise<Command[]> {
    if (command.do === 'hear') {
      const number = await connection.hear(command)
      return member.heard(command, number, clock.now())
    }
    const granted = await connection.join(command)
    if (granted) deps.joined()
    return member.joined(command, granted, clock.now())
  }
  const send = (commands: readonly Command[]): void => {
    for (const command of commands) perform(command).then(answered).catch(over.reject)
  }
  function answered(commands: readonly Command[]): void {
    answeredAt = clock.now()
    send(commands)
  }
  const tick = () => {
    deps.metrics.lease(member.isValid(clock.now()))
    if (clock.now() - answeredAt > LOST_RENEWALS * intervals.renewMs)
      over.reject(new Error('nothing was answered in time'))
    else if (isOpen) send(member.tick(clock.now()))
  }

  const stop = () => over.resolve()
  signal.addEventListener('abort', stop)
  connection.onLost(over.reject)
  const timer = setInterval(tick, intervals.renewMs)
  try {
    const opening = connection.open((notice) => answered(member.notice(notice, clock.now())))
    await Promise.race([opening, over.promise])
    isOpen = true
    answered(member.connected(clock.now()))
    await over.promise
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', stop)
    deps.metrics.lease(false)
    const id = member.disconnected()
    // Nothing is believed any more, so nobody need wait for this member.
    if (id !== undefined)
      await Promise.race([connection.leave(id), sleep(LEAVE_TIMEOUT_MS, undefined, { ref: false })])
    connection.close()
  }
}

/** One connection to the store of revocations, which is not made anew when it fails. @param name of the hash and the channel */
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
    /** Connects and listens. @param onNotice told of each notice; undefined for one that cannot be read */
    async open(onNotice: (notice: RevocationNotification | undefined) => void): Promise<void> {
      await client.connect()
      await client.subscribe(revocationChannel(name), (text: string) => onNotice(parseNotification(text)))
    },
    /** Told once or more when the connection has failed. */
    onLost(listener: (error: Error) => void): void {
      client.on('error', listener)
      client.on('end', () => listener(new Error('the connection was closed')))
    },
    /** @returns undefined where nobody revokes through this store */
    async join({ id, previous }: Join) {
      const joined = await run(SUBSCRIBE, id, previous)
      return joined ? { mark: joined[0], number: joined[1] } : undefined
    },
    /** @returns the store's number; undefined for one who is no member */
    hear: async ({ mark, id, seen }: Hear) => (await run(ACKNOWLEDGE, mark, id, String(seen))) ?? undefined,
    /** Takes the membership off the list, if that can be done. */
    async leave(id: string): Promise<void> {
      if (client.isReady) await run(UNSUBSCRIBE, id).catch(() => undefined)
    },
    close() {
      if (client.isOpen) client.destroy()
    },
  }
}

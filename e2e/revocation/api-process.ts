import { type ApiProcess, INTERVALS, type World } from './world.ts'

/** A connection of the process to the store. All times are virtual, in milliseconds. */
interface Connection {
  /** True once the store delivers notifications on this connection. */
  isSubscribed: boolean
  isOpen: boolean
  /** True if the connection transmits nothing, whether or not it is open. */
  isSilent: boolean
  /** When the last message in each direction arrives. Later messages never arrive earlier. */
  lastStoreArrivalAt: number
  lastApiArrivalAt: number
  /** When the process received the last message. */
  lastReceivedAt: number
}

/** A process that has received nothing for this time closes its connection. */
const MAX_SILENCE_MS = 1_500
const { leaseMs, renewMs } = INTERVALS

/**
 * Simulates an API process that runs the code under test.
 *
 * @param clock the process's clock: its speed relative to virtual time, and the time that it shows at the start
 */
export function createApiProcess(
  world: World,
  name: string,
  clock: { readonly speed: number; readonly offsetMs: number },
): ApiProcess {
  const { time, random, store } = world
  const readLocalTime = () => clock.offsetMs + time.now() * clock.speed
  const subscriber = world.codeUnderTest.createRevocationSubscriber({
    name,
    leaseMs,
    cacheMs: 30_000,
    // The cache holds 100 entries.
    maxCachedBytes: 100,
    estimateEntryBytes: () => 1,
  })
  const waitersByIntrospection = new Map<object, ((active: boolean) => void)[]>()
  let pausedUntil = 0
  let slowUntil = 0
  let slowMs = 0
  let connection: Connection | undefined

  /** Runs an action in this process. If the process is paused at that time, the action runs after the pause. */
  function runAt(at: number, action: () => void): void {
    time.at(at, () => (time.now() < pausedUntil ? runAt(pausedUntil, action) : action()))
  }
  /** Draws the time that a message takes in one direction. */
  const drawHopMs = () => (random.happens(0.03) ? random.between(0, 400) : random.between(0.1, 2))

  /** Runs an action when a message from the store arrives at this process, unless the connection has failed by then. */
  function sendToApi(target: Connection, action: () => void, extraDelayMs = 0): void {
    const slowDelayMs = time.now() < slowUntil ? random.between(0, slowMs) : 0
    target.lastApiArrivalAt = Math.max(target.lastApiArrivalAt, time.now() + drawHopMs() + slowDelayMs)
    runAt(target.lastApiArrivalAt + extraDelayMs, () => {
      if (!target.isOpen || target.isSilent) return
      target.lastReceivedAt = time.now()
      action()
    })
  }

  /**
   * Sends a command. It reaches the store even if the connection breaks afterwards, but not while the store is
   * unavailable.
   */
  function send<T>(target: Connection, runCommand: () => T, onResponse: (response: T) => void): void {
    if (target.isSilent) return
    target.lastStoreArrivalAt = Math.max(target.lastStoreArrivalAt, time.now() + drawHopMs())
    time.at(target.lastStoreArrivalAt, () => {
      if (time.now() < world.storeUnavailableUntil) return
      const response = runCommand()
      // The process may handle a reply after notifications that arrived together with it.
      if (target.isOpen)
        sendToApi(target, () => onResponse(response), random.happens(0.3) ? random.between(0, 2) : 0)
    })
  }

  type Commands = ReturnType<typeof subscriber.tick>
  function sendCommands(commands: Commands): void {
    const target = connection
    if (!target) return
    for (const command of commands) {
      if (command.do === 'subscribe')
        send(
          target,
          () => store.subscribe(command.id, command.previous),
          (granted) => sendCommands(subscriber.onSubscribed(command, granted, readLocalTime())),
        )
      else
        send(
          target,
          () => store.acknowledge(command.mark, command.id, command.lastSeen),
          (newestNumber) => sendCommands(subscriber.onAcknowledged(command, newestNumber, readLocalTime())),
        )
    }
  }

  function connect(): void {
    const target: Connection = {
      isSubscribed: false,
      isOpen: true,
      isSilent: false,
      lastStoreArrivalAt: 0,
      lastApiArrivalAt: 0,
      lastReceivedAt: time.now(),
    }
    connection = target
    send(
      target,
      () => (target.isSubscribed = true),
      () => sendCommands(subscriber.onConnected(readLocalTime())),
    )
    const tick = () => {
      if (connection !== target) return
      if (time.now() - target.lastReceivedAt > MAX_SILENCE_MS) return close(target)
      sendCommands(subscriber.tick(readLocalTime()))
      runAt(time.now() + renewMs, tick)
    }
    runAt(time.now() + renewMs, tick)
  }
  function close(target: Connection): void {
    target.isOpen = false
    target.isSubscribed = false
    if (connection !== target) return
    connection = undefined
    subscriber.onDisconnected()
    runAt(time.now() + random.between(50, 500), connect)
  }
  connect()

  /** Introspects a token at a random auth process. Calls `onResponse` when the response arrives at this process. */
  function introspect(token: string, onResponse: (active: boolean, mark: string | undefined) => void): void {
    const drawDelayMs = () => (random.happens(0.1) ? random.between(0, 3_000) : random.between(0.2, 10))
    const revoker = world.revokers[random.below(world.revokers.length)]!
    time.at(time.now() + drawDelayMs(), () => {
      const { active, mark } = revoker.introspect(token)
      runAt(time.now() + drawDelayMs(), () => onResponse(active, mark))
    })
  }

  return {
    request(token) {
      runAt(time.now(), () => {
        const startedAt = time.now()
        /** Creates a function that counts the request if it is accepted, and records a violation of R-LIN (docs/revocation/README.md). */
        const createRecorder = (sourceName: string) => (active: boolean) => {
          if (!active) return
          world.accepted += 1
          const respondedAt = world.respondedAt.get(token) ?? Number.POSITIVE_INFINITY
          if (startedAt > respondedAt)
            world.violations.push(`${token} ${sourceName} at ${startedAt}, revoked at ${respondedAt}`)
        }
        const cached = subscriber.findCached(token, readLocalTime())
        const source = cached
          ? ({ from: 'cache', introspection: cached } as const)
          : subscriber.beginIntrospection(token, readLocalTime())
        if (source.from === 'cache') {
          world.acceptedFromCache += 1
          createRecorder('cache')(true)
        } else if (source.from === 'uncached') introspect(token, createRecorder('uncached'))
        else if (source.from === 'shared')
          waitersByIntrospection.get(source.inFlight)!.push(createRecorder('shared'))
        else {
          const waiters = [createRecorder('new')]
          waitersByIntrospection.set(source.inFlight, waiters)
          introspect(token, (active, mark) => {
            subscriber.finishIntrospection(
              source.inFlight,
              createIntrospection(token, active, mark),
              readLocalTime(),
            )
            for (const recordResult of waiters) recordResult(active)
          })
        }
      })
    },
    deliver(notification) {
      const target = connection
      if (target?.isSubscribed && target.isOpen)
        sendToApi(target, () => sendCommands(subscriber.onNotification(notification, readLocalTime())))
    },
    cut() {
      const target = connection
      if (!target) return
      // Data in transit is lost. The process may notice this up to 0.3 s later.
      target.isSilent = true
      target.isSubscribed = false
      runAt(time.now() + (random.happens(0.5) ? 0 : random.between(0, 300)), () => close(target))
    },
    becomeHalfOpen() {
      if (connection) connection.isSilent = true
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, time.now() + ms)
    },
    slowDown(ms) {
      slowUntil = time.now() + 2_000
      slowMs = ms
    },
  }
}

/** An invented thumbprint of a key. */
const KEY_THUMBPRINT = 'A'.repeat(43)

type Introspection = Parameters<
  ReturnType<World['codeUnderTest']['createRevocationSubscriber']>['finishIntrospection']
>[1]
function createIntrospection(token: string, active: boolean, mark: string | undefined): Introspection {
  if (!active) return { active: false }
  const [clientId = '', number] = token.split('/')
  return {
    active,
    clientId,
    scopes: new Set(),
    audience: [],
    // The latest time that a `Date` can represent.
    expiresAt: new Date(8.64e15),
    identityType: 'anonymous',
    // Every other token is bound to a key, which must make no difference.
    ...(Number(number) % 2 === 0 && { jkt: KEY_THUMBPRINT }),
    ...(mark !== undefined && { revocationMark: mark }),
  }
}

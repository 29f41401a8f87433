import { type ApiProcess, INTERVALS, type World } from './world.ts'

interface Connection {
  subscribed: boolean
  open: boolean
  silent: boolean
  /** The latest arrival in each direction, since messages keep their order. */
  toStore: number
  toApi: number
  heardAt: number
}

const SILENCE_MS = 1_500
const { leaseMs, renewMs } = INTERVALS

export function apiProcess(
  world: World,
  name: string,
  clock: { readonly speed: number; readonly offset: number },
): ApiProcess {
  const { time, random, store } = world
  const local = () => clock.offset + time.now() * clock.speed
  const subscriber = world.parts.revocationSubscriber({ name, leaseMs, cacheMs: 30_000, maxCached: 100 })
  const waiting = new Map<object, ((active: boolean) => void)[]>()
  let pausedUntil = 0
  let slowUntil = 0
  let slowMs = 0
  let connection: Connection | undefined

  /** Runs an action in this process; later, if the process hangs at that time. */
  function runAt(at: number, act: () => void): void {
    time.at(at, () => (time.now() < pausedUntil ? runAt(pausedUntil, act) : act()))
  }
  const hop = () => (random.happens(0.03) ? random.between(0, 400) : random.between(0.1, 2))

  function toApi(target: Connection, act: () => void, later = 0): void {
    const slow = time.now() < slowUntil ? random.between(0, slowMs) : 0
    target.toApi = Math.max(target.toApi, time.now() + hop() + slow)
    runAt(target.toApi + later, () => {
      if (!target.open || target.silent) return
      target.heardAt = time.now()
      act()
    })
  }

  /** Sends a command. It reaches the store even if the connection breaks afterwards. */
  function send<T>(target: Connection, step: () => T, then: (response: T) => void): void {
    if (target.silent) return
    target.toStore = Math.max(target.toStore, time.now() + hop())
    time.at(target.toStore, () => {
      if (time.now() < world.storeAwayUntil) return
      const response = step()
      // A reply may be handled after notifications that arrived together with it.
      if (target.open) toApi(target, () => then(response), random.happens(0.3) ? random.between(0, 2) : 0)
    })
  }

  type Commands = ReturnType<typeof subscriber.tick>
  function run(commands: Commands): void {
    const target = connection
    if (!target) return
    for (const command of commands) {
      if (command.do === 'subscribe')
        send(
          target,
          () => store.subscribe(command.id, command.previous),
          (granted) => run(subscriber.subscribed(command, granted, local())),
        )
      else
        send(
          target,
          () => store.acknowledge(command.mark, command.id, command.seen),
          (number) => run(subscriber.acknowledged(command, number, local())),
        )
    }
  }

  function connect(): void {
    const target: Connection = {
      subscribed: false,
      open: true,
      silent: false,
      toStore: 0,
      toApi: 0,
      heardAt: time.now(),
    }
    connection = target
    send(
      target,
      () => (target.subscribed = true),
      () => run(subscriber.connected(local())),
    )
    const tick = () => {
      if (connection !== target) return
      if (time.now() - target.heardAt > SILENCE_MS) return close(target)
      run(subscriber.tick(local()))
      runAt(time.now() + renewMs, tick)
    }
    runAt(time.now() + renewMs, tick)
  }
  function close(target: Connection): void {
    target.open = false
    target.subscribed = false
    if (connection !== target) return
    connection = undefined
    subscriber.disconnected()
    runAt(time.now() + random.between(50, 500), connect)
  }
  connect()

  function introspect(token: string, then: (active: boolean, mark: string | undefined) => void): void {
    const late = () => (random.happens(0.1) ? random.between(0, 3_000) : random.between(0.2, 10))
    const revoker = world.revokers[random.below(world.revokers.length)]!
    time.at(time.now() + late(), () => {
      const { active, mark } = revoker.introspect(token)
      runAt(time.now() + late(), () => then(active, mark))
    })
  }

  return {
    request(token) {
      runAt(time.now(), () => {
        const beganAt = time.now()
        const settle = (how: string) => (active: boolean) => {
          if (!active) return
          world.granted += 1
          const respondedAt = world.respondedAt.get(token) ?? Number.POSITIVE_INFINITY
          if (beganAt > respondedAt)
            world.violations.push(`${token} ${how} at ${beganAt}, ended at ${respondedAt}`)
        }
        const found = subscriber.find(token, local())
        const source = found
          ? ({ from: 'cache', introspection: found } as const)
          : subscriber.begin(token, local())
        if (source.from === 'cache') {
          world.fromMemory += 1
          settle('cache')(true)
        } else if (source.from === 'uncached') introspect(token, settle('uncached'))
        else if (source.from === 'shared') waiting.get(source.inFlight)!.push(settle('shared'))
        else {
          const all = [settle('new')]
          waiting.set(source.inFlight, all)
          introspect(token, (active, mark) => {
            subscriber.finish(source.inFlight, createIntrospection(token, active, mark), local())
            for (const each of all) each(active)
          })
        }
      })
    },
    publish(notice) {
      const target = connection
      if (target?.subscribed && target.open) toApi(target, () => run(subscriber.notified(notice, local())))
    },
    cut() {
      const target = connection
      if (!target) return
      // Data in transit is lost. The process may notice the failure only later.
      target.silent = true
      target.subscribed = false
      runAt(time.now() + (random.happens(0.5) ? 0 : random.between(0, 300)), () => close(target))
    },
    fallSilent() {
      if (connection) connection.silent = true
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

const JKT = 'A'.repeat(43)

type Answer = Parameters<ReturnType<World['parts']['revocationSubscriber']>['finish']>[1]
function createIntrospection(token: string, active: boolean, mark: string | undefined): Answer {
  if (!active) return { active: false }
  const [clientId = '', number] = token.split('/')
  return {
    active,
    clientId,
    scopes: new Set(),
    audience: [],
    expiresAt: new Date(8.64e15),
    identityType: 'anonymous',
    // Every other token is bound to a key, which makes no difference.
    ...(Number(number) % 2 === 0 && { jkt: JKT }),
    ...(mark !== undefined && { revocationMark: mark }),
  }
}

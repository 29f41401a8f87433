import { type ApiProcess, INTERVALS, type World } from './world.ts'

interface Connection {
  subscribed: boolean
  open: boolean
  silent: boolean
  /** Arrivals keep their order, each way. */
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
  const member = world.parts.revocationMember({ name, leaseMs, keepMs: 30_000, mostKept: 100 })
  const waiting = new Map<object, ((active: boolean) => void)[]>()
  let pausedUntil = 0
  let slowUntil = 0
  let slowMs = 0
  let connection: Connection | undefined

  /** Runs in this process: later, should it stand still then. */
  function here(at: number, act: () => void): void {
    time.at(at, () => (time.now() < pausedUntil ? here(pausedUntil, act) : act()))
  }
  const hop = () => (random.happens(0.03) ? random.between(0, 400) : random.between(0.1, 2))

  function toApi(on: Connection, act: () => void, later = 0): void {
    const slow = time.now() < slowUntil ? random.between(0, slowMs) : 0
    on.toApi = Math.max(on.toApi, time.now() + hop() + slow)
    here(on.toApi + later, () => {
      if (!on.open || on.silent) return
      on.heardAt = time.now()
      act()
    })
  }

  /** A command that was sent reaches the store, also when the connection broke behind it. */
  function send<T>(on: Connection, step: () => T, then: (answer: T) => void): void {
    if (on.silent) return
    on.toStore = Math.max(on.toStore, time.now() + hop())
    time.at(on.toStore, () => {
      if (time.now() < world.storeAwayUntil) return
      const answer = step()
      // A reply is handled a turn after it arrived; notices that came with it are handled before.
      if (on.open) toApi(on, () => then(answer), random.happens(0.3) ? random.between(0, 2) : 0)
    })
  }

  type Commands = ReturnType<typeof member.tick>
  function run(commands: Commands): void {
    const on = connection
    if (!on) return
    for (const command of commands) {
      if (command.do === 'join')
        send(
          on,
          () => store.join(command.id, command.previous),
          (granted) => run(member.joined(command, granted, local())),
        )
      else
        send(
          on,
          () => store.hear(command.mark, command.id, command.seen),
          (number) => run(member.heard(command, number, local())),
        )
    }
  }

  function connect(): void {
    const on: Connection = {
      subscribed: false,
      open: true,
      silent: false,
      toStore: 0,
      toApi: 0,
      heardAt: time.now(),
    }
    connection = on
    send(
      on,
      () => (on.subscribed = true),
      () => run(member.connected(local())),
    )
    const tick = () => {
      if (connection !== on) return
      if (time.now() - on.heardAt > SILENCE_MS) return close(on)
      run(member.tick(local()))
      here(time.now() + renewMs, tick)
    }
    here(time.now() + renewMs, tick)
  }
  function close(on: Connection): void {
    on.open = false
    on.subscribed = false
    if (connection !== on) return
    connection = undefined
    member.disconnected()
    here(time.now() + random.between(50, 500), connect)
  }
  connect()

  function introspect(token: string, then: (active: boolean, mark: string | undefined) => void): void {
    const late = () => (random.happens(0.1) ? random.between(0, 3_000) : random.between(0.2, 10))
    const revoker = world.revokers[random.below(world.revokers.length)]!
    time.at(time.now() + late(), () => {
      const { active, mark } = revoker.introspect(token)
      here(time.now() + late(), () => then(active, mark))
    })
  }

  return {
    request(token) {
      here(time.now(), () => {
        const beganAt = time.now()
        const settle = (how: string) => (active: boolean) => {
          if (!active) return
          world.granted += 1
          const answeredAt = world.answeredAt.get(token) ?? Number.POSITIVE_INFINITY
          if (beganAt > answeredAt)
            world.violations.push(`${token} ${how} at ${beganAt}, ended at ${answeredAt}`)
        }
        const found = member.find(token, local())
        const asked = found ? ({ how: 'kept', answer: found } as const) : member.ask(token, local())
        if (asked.how === 'kept') {
          world.fromMemory += 1
          settle('kept')(true)
        } else if (asked.how === 'alone') introspect(token, settle('alone'))
        else if (asked.how === 'shared') waiting.get(asked.lookUp)!.push(settle('shared'))
        else {
          const all = [settle('new')]
          waiting.set(asked.lookUp, all)
          introspect(token, (active, mark) => {
            member.answered(asked.lookUp, answerOf(token, active, mark), local())
            for (const each of all) each(active)
          })
        }
      })
    },
    publish(notice) {
      const on = connection
      if (on?.subscribed && on.open) toApi(on, () => run(member.notice(notice, local())))
    },
    cut() {
      const on = connection
      if (!on) return
      // What was on its way is lost; the process may learn of it later.
      on.silent = true
      on.subscribed = false
      here(time.now() + (random.happens(0.5) ? 0 : random.between(0, 300)), () => close(on))
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

type Answer = Parameters<ReturnType<World['parts']['revocationMember']>['answered']>[1]
function answerOf(token: string, active: boolean, mark: string | undefined): Answer {
  if (!active) return { active: false }
  const clientId = token.split('/')[0]!
  return {
    active,
    clientId,
    scopes: new Set(),
    audience: [],
    expiresAt: new Date(8.64e15),
    identityType: 'anonymous',
    ...(mark !== undefined && { endsToldBy: mark }),
  }
}

import { type BoundedAnswer, type BoundedRequest, requestBounded, timeOut } from './request-bounded.ts'

/** Asks for a path of the internal listener; bounds are those of `requestBounded`. */
export type AskAuthorizationServer = (path: string, request: BoundedRequest) => Promise<BoundedAnswer>

interface Instance {
  readonly url: string
  underWay: number
  /** From when it did not answer, or answered 503, until it answers a look. */
  away: boolean
  /** Milliseconds of a clock that only rises. */
  nextLookAt: number
  /** How long nobody looks when it goes away next. */
  pauseMs: number
}

/** Also what a look asks for: anybody may, and it is not there before an instance can sign. */
export const KEY_SET = '/oauth/jwks.json'
const LOOK_EVERY_MS = 250
const LOOK_TIMEOUT_MS = 1_000
const MOST_PAUSE_MS = 8_000

/**
 * Asks the instance with the fewest requests under way, those with as many in turn. One that cannot be reached, loses the
 * connection or answers 503 is passed over for the next at once, so only ask what may be asked twice; one that does not
 * answer in time, by the next to ask. Each is asked again when it answers a look, which no request waits for, or when all
 * are away. A look tells little of an instance whose own way to a store, or clock, is broken: each time that one answers
 * looks and nothing else, the pause before the next look doubles, up to 8 s. One that answers anything but 503 is believed.
 *
 * One for all that a process asks: who is away is learnt once.
 *
 * @param urls internal listeners such as `http://auth:8091`, at least one
 * @param clock milliseconds that only rise
 */
export function askAuthorizationServer(
  urls: readonly string[],
  clock: { now(): number } = performance,
): AskAuthorizationServer {
  const instances = urls.map(
    (url): Instance => ({ url, underWay: 0, away: false, nextLookAt: 0, pauseMs: 0 }),
  )
  let turn = 0
  return async (path, request) => {
    request.signal.throwIfAborted()
    lookAtThoseAway(instances, clock)
    turn = (turn + 1) % instances.length
    const left = [...instances.slice(turn), ...instances.slice(0, turn)]
    for (;;) {
      const asked = leastBusy(left)
      left.splice(left.indexOf(asked), 1)
      asked.underWay += 1
      try {
        const answer = await requestBounded(`${asked.url}${path}`, request)
        if (answer.status === 503) leave(asked, clock.now())
        else comeBack(asked, path)
        if (answer.status !== 503 || left.length === 0) return answer
      } catch (error) {
        const { aborted } = request.signal
        if (!aborted && !isAway(error)) throw error
        // Who is asked when another has used up the time is not the one that is late.
        if (!aborted || left.length === instances.length - 1) leave(asked, clock.now())
        if (aborted || left.length === 0) throw error
      } finally {
        asked.underWay -= 1
      }
    }
  }
}

function leave(instance: Instance, now: number): void {
  if (instance.away) return
  instance.away = true
  instance.nextLookAt = now + instance.pauseMs
  instance.pauseMs = Math.min(MOST_PAUSE_MS, Math.max(LOOK_EVERY_MS, instance.pauseMs * 2))
}

/** Whoever gets the key set learns no more than by a look. */
function comeBack(instance: Instance, path: string): void {
  instance.away = false
  if (path !== KEY_SET) instance.pauseMs = 0
}

/** The first of those that are not away, or else of all, with the fewest requests under way. */
function leastBusy(instances: readonly Instance[]): Instance {
  const there = instances.filter(({ away }) => !away)
  return (there.length > 0 ? there : instances).reduce((least, each) =>
    each.underWay < least.underWay ? each : least,
  )
}

/** Each at most four times a second, and while requests come at all: nothing is asked on behalf of nobody. */
function lookAtThoseAway(instances: readonly Instance[], clock: { now(): number }): void {
  if (instances.length === 1) return
  const now = clock.now()
  for (const instance of instances) {
    if (!instance.away || now < instance.nextLookAt) continue
    instance.nextLookAt = now + LOOK_TIMEOUT_MS
    void look(instance, clock)
  }
}

async function look(instance: Instance, clock: { now(): number }): Promise<void> {
  using bound = timeOut(LOOK_TIMEOUT_MS)
  const asked = requestBounded(`${instance.url}${KEY_SET}`, { signal: bound.signal })
  const answer = await asked.catch(() => undefined)
  if (answer?.status === 200) instance.away = false
  else instance.nextLookAt = clock.now() + LOOK_EVERY_MS
}

/** What Node says of a connection has a code. */
const isAway = (error: unknown) => error instanceof Error && 'code' in error

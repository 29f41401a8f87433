import { type BoundedAnswer, type BoundedRequest, requestBounded } from './request-bounded.ts'
import { timeOut } from './time-out.ts'

/** Asks for a path of the internal listener; bounds are those of `requestBounded`. */
export type AskAuthorizationServer = (path: string, request: BoundedRequest) => Promise<BoundedAnswer>

interface Instance {
  readonly url: string
  underWay: number
  /** From when it did not answer until it answers a look. */
  away: boolean
  /** Milliseconds of a clock that only rises. */
  nextLookAt: number
}

/** Also what a look asks for: anybody may, and it is not there before an instance can sign. */
export const KEY_SET = '/oauth/jwks.json'
const LOOK_EVERY_MS = 250
const LOOK_TIMEOUT_MS = 1_000

/**
 * Asks the instance with the fewest requests under way, those with as many in turn. One that cannot be reached, or loses
 * the connection, is passed over for the next at once, so only ask what may be asked twice; one that does not answer in
 * time, by the next to ask. Both are asked again when they answer a look, which no request waits for, or when all are
 * away. One that answers wrongly is not passed over: the others share its stores.
 *
 * @param urls internal listeners such as `http://auth:8091`, at least one
 */
export function askAuthorizationServer(urls: readonly string[]): AskAuthorizationServer {
  const instances = urls.map((url): Instance => ({ url, underWay: 0, away: false, nextLookAt: 0 }))
  let turn = 0
  return async (path, request) => {
    lookAtThoseAway(instances, performance.now())
    turn = (turn + 1) % instances.length
    const left = [...instances.slice(turn), ...instances.slice(0, turn)]
    for (;;) {
      const asked = leastBusy(left)
      left.splice(left.indexOf(asked), 1)
      asked.underWay += 1
      try {
        const answer = await requestBounded(`${asked.url}${path}`, request)
        asked.away = false
        return answer
      } catch (error) {
        const { aborted } = request.signal
        if (!aborted && !isAway(error)) throw error
        asked.away = true
        if (aborted || left.length === 0) throw error
      } finally {
        asked.underWay -= 1
      }
    }
  }
}

/** The first of those that are not away, or else of all, with the fewest requests under way. */
function leastBusy(instances: readonly Instance[]): Instance {
  const there = instances.filter(({ away }) => !away)
  return (there.length > 0 ? there : instances).reduce((least, each) =>
    each.underWay < least.underWay ? each : least,
  )
}

/** Each at most four times a second, and while requests come at all: nothing is asked on behalf of nobody. */
function lookAtThoseAway(instances: readonly Instance[], now: number): void {
  if (instances.length === 1) return
  for (const instance of instances) {
    if (!instance.away || now < instance.nextLookAt) continue
    instance.nextLookAt = now + LOOK_TIMEOUT_MS
    void look(instance).finally(() => {
      instance.nextLookAt = performance.now() + LOOK_EVERY_MS
    })
  }
}

async function look(instance: Instance): Promise<void> {
  using bound = timeOut(LOOK_TIMEOUT_MS)
  const asked = requestBounded(`${instance.url}${KEY_SET}`, { signal: bound.signal })
  const answer = await asked.catch(() => undefined)
  if (answer?.status === 200) instance.away = false
}

/** What Node says of a connection has a code. */
const isAway = (error: unknown) => error instanceof Error && 'code' in error

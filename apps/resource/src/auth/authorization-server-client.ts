import {
  type BoundedRequest,
  type BoundedResponse,
  requestBounded,
  timeoutSignal,
} from './request-bounded.ts'

/** Requests a path of the internal listener, within the bounds of `requestBounded`. */
export type RequestAuthorizationServer = (path: string, request: BoundedRequest) => Promise<BoundedResponse>

interface Instance {
  readonly url: string
  inFlight: number
  /** True from a failed connection or a 503 until the instance responds to a probe. */
  isUnavailable: boolean
  /** Milliseconds of a monotonic clock. */
  nextProbeAt: number
  /** How long to wait before the first probe when the instance becomes unavailable again. */
  pauseMs: number
}

/** Probes request it too: it needs no authentication, and it is not served before an instance can sign. */
export const KEY_SET_PATH = '/oauth/jwks.json'
const PROBE_INTERVAL_MS = 250
const PROBE_TIMEOUT_MS = 1_000
const MAX_PAUSE_MS = 8_000

/**
 * Sends each request to the instance with the fewest requests in flight, in turn where several have as few.
 *
 * An instance becomes unavailable when its connection fails, when it responds with 503, or when it exceeds the time of a
 * request. After a failed connection or a 503 the request is sent to the next instance at once, so send only requests that may
 * be repeated. An unavailable instance gets no requests until it responds to a probe, unless all instances are unavailable.
 *
 * A probe can succeed while the instance cannot reach its store, or while its clock is wrong. If an instance responds to
 * probes but to nothing else, the pause before its next probe doubles each time, up to 8 s.
 *
 * Create one for the whole process, so that all requests share what is known about the instances.
 *
 * @param urls internal listeners such as `http://auth:8091`, at least one
 * @param clock milliseconds of a monotonic clock
 */
export function authorizationServerClient(
  urls: readonly string[],
  clock: { now(): number } = performance,
): RequestAuthorizationServer {
  const instances = urls.map(
    (url): Instance => ({ url, inFlight: 0, isUnavailable: false, nextProbeAt: 0, pauseMs: 0 }),
  )
  let turn = 0
  return async (path, request) => {
    request.signal.throwIfAborted()
    probeUnavailable(instances, clock)
    turn = (turn + 1) % instances.length
    const untried = [...instances.slice(turn), ...instances.slice(0, turn)]
    for (;;) {
      const instance = leastBusy(untried)
      untried.splice(untried.indexOf(instance), 1)
      instance.inFlight += 1
      try {
        const response = await requestBounded(`${instance.url}${path}`, request)
        if (response.status === 503) markUnavailable(instance, clock.now())
        else markAvailable(instance, path)
        if (response.status !== 503 || untried.length === 0) return response
      } catch (error) {
        const { aborted } = request.signal
        if (!aborted && !isConnectionError(error)) throw error
        // If another instance used up the time before, this one is not to blame.
        if (!aborted || untried.length === instances.length - 1) markUnavailable(instance, clock.now())
        if (aborted || untried.length === 0) throw error
      } finally {
        instance.inFlight -= 1
      }
    }
  }
}

function markUnavailable(instance: Instance, now: number): void {
  if (instance.isUnavailable) return
  instance.isUnavailable = true
  instance.nextProbeAt = now + instance.pauseMs
  instance.pauseMs = Math.min(MAX_PAUSE_MS, Math.max(PROBE_INTERVAL_MS, instance.pauseMs * 2))
}

/** The key set says no more about an instance than a probe does, so it leaves the pause as it is. */
function markAvailable(instance: Instance, path: string): void {
  instance.isUnavailable = false
  if (path !== KEY_SET_PATH) instance.pauseMs = 0
}

/** The first available instance with the fewest requests in flight, or the first of all when none is available. */
function leastBusy(instances: readonly Instance[]): Instance {
  const available = instances.filter(({ isUnavailable }) => !isUnavailable)
  return (available.length > 0 ? available : instances).reduce((least, each) =>
    each.inFlight < least.inFlight ? each : least,
  )
}

/** Probes each unavailable instance at most four times a second, and only when a request arrives. */
function probeUnavailable(instances: readonly Instance[], clock: { now(): number }): void {
  if (instances.length === 1) return
  const now = clock.now()
  for (const instance of instances) {
    if (!instance.isUnavailable || now < instance.nextProbeAt) continue
    instance.nextProbeAt = now + PROBE_TIMEOUT_MS
    void probe(instance, clock)
  }
}

async function probe(instance: Instance, clock: { now(): number }): Promise<void> {
  using timeout = timeoutSignal(PROBE_TIMEOUT_MS)
  const response = await requestBounded(`${instance.url}${KEY_SET_PATH}`, { signal: timeout.signal }).catch(
    () => undefined,
  )
  if (response?.status === 200) instance.isUnavailable = false
  else instance.nextProbeAt = clock.now() + PROBE_INTERVAL_MS
}

/** Errors of a connection have a `code` in Node. */
const isConnectionError = (error: unknown) => error instanceof Error && 'code' in error

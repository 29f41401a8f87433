import {
  type BoundedRequest,
  type BoundedResponse,
  createTimeoutSignal,
  sendBoundedRequest,
} from './send-bounded-request.ts'

/** Requests a path of the internal listener, within the bounds of `sendBoundedRequest`. */
export type RequestAuthorizationServer = (path: string, request: BoundedRequest) => Promise<BoundedResponse>

interface Instance {
  readonly url: string
  inFlight: number
  /** True after a failed connection, a time-out or a 503, until a probe or another request succeeds. */
  isUnavailable: boolean
  /** The earliest time of the next probe, in milliseconds of a monotonic clock. */
  nextProbeAt: number
  /** The pause before the first probe when the instance becomes unavailable again. */
  pauseMs: number
}

/** The path of the key set. Probes request it: it needs no authentication, and only an instance that can sign serves it. */
export const KEY_SET_PATH = '/oauth/jwks.json'
const PROBE_INTERVAL_MS = 250
const PROBE_TIMEOUT_MS = 1_000
const MAX_PAUSE_MS = 8_000

/**
 * Creates a client that sends each request to the available instance with the fewest requests in flight. Among equally busy
 * instances, it uses each in turn. Create one client per process, so that all requests share its knowledge about the instances.
 *
 * An instance becomes unavailable when its connection fails, when it responds with 503, or when a request to it times out. After
 * a failed connection or a 503, the client immediately sends the request to another instance, so send only requests that may be
 * repeated. An unavailable instance gets no requests until it responds to a probe, or until no other instance is left to try. If
 * every instance fails, the client returns the last 503 or throws the last connection error.
 *
 * A probe can succeed while the instance cannot reach its store, or while its clock is skewed. If an instance responds only to
 * probes, the pause before its next probe doubles each time, up to 8 s.
 *
 * @param urls internal listeners such as `http://auth:8091`, at least one
 * @param clock a monotonic clock, in milliseconds
 */
export function createAuthorizationServerClient(
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
    const untriedInstances = [...instances.slice(turn), ...instances.slice(0, turn)]
    for (;;) {
      const instance = findLeastBusy(untriedInstances)
      untriedInstances.splice(untriedInstances.indexOf(instance), 1)
      instance.inFlight += 1
      try {
        const response = await sendBoundedRequest(`${instance.url}${path}`, request)
        if (response.status === 503) markUnavailable(instance, clock.now())
        else markAvailable(instance, path)
        if (response.status !== 503 || untriedInstances.length === 0) return response
      } catch (error) {
        const { aborted } = request.signal
        if (!aborted && !isConnectionError(error)) throw error
        // A time-out says nothing about this instance if an earlier instance used up the time.
        if (!aborted || untriedInstances.length === instances.length - 1)
          markUnavailable(instance, clock.now())
        if (aborted || untriedInstances.length === 0) throw error
      } finally {
        instance.inFlight -= 1
      }
    }
  }
}

/** Marks an instance as unavailable, and lengthens the pause for the next time. Does nothing if it is already unavailable. */
function markUnavailable(instance: Instance, now: number): void {
  if (instance.isUnavailable) return
  instance.isUnavailable = true
  instance.nextProbeAt = now + instance.pauseMs
  instance.pauseMs = Math.min(MAX_PAUSE_MS, Math.max(PROBE_INTERVAL_MS, instance.pauseMs * 2))
}

/**
 * Marks an instance as available. Resets its pause, unless the request was for the key set, which proves no more than a probe.
 */
function markAvailable(instance: Instance, path: string): void {
  instance.isUnavailable = false
  if (path !== KEY_SET_PATH) instance.pauseMs = 0
}

/** Finds the available instance with the fewest requests in flight. If none is available, considers all instances. */
function findLeastBusy(instances: readonly Instance[]): Instance {
  const availableInstances = instances.filter(({ isUnavailable }) => !isUnavailable)
  return (availableInstances.length > 0 ? availableInstances : instances).reduce((least, instance) =>
    instance.inFlight < least.inFlight ? instance : least,
  )
}

/**
 * Probes each unavailable instance whose `nextProbeAt` has passed. Only requests call this, so an idle process sends no probes.
 */
function probeUnavailable(instances: readonly Instance[], clock: { now(): number }): void {
  // A single instance gets every request even while it is unavailable, so it needs no probes.
  if (instances.length === 1) return
  const now = clock.now()
  for (const instance of instances) {
    if (!instance.isUnavailable || now < instance.nextProbeAt) continue
    // No second probe starts while this one is in flight.
    instance.nextProbeAt = now + PROBE_TIMEOUT_MS
    void probe(instance, clock)
  }
}

async function probe(instance: Instance, clock: { now(): number }): Promise<void> {
  using timeout = createTimeoutSignal(PROBE_TIMEOUT_MS)
  const response = await sendBoundedRequest(`${instance.url}${KEY_SET_PATH}`, {
    signal: timeout.signal,
  }).catch(() => undefined)
  if (response?.status === 200) instance.isUnavailable = false
  else instance.nextProbeAt = clock.now() + PROBE_INTERVAL_MS
}

/**
 * Returns true for a connection error of Node, which has a `code`. The reason of an aborted signal has one too, so check
 * `aborted` first.
 */
const isConnectionError = (error: unknown) => error instanceof Error && 'code' in error

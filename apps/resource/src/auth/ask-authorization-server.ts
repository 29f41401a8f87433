import { type BoundedAnswer, fetchBounded } from './fetch-bounded.ts'

/** Asks for a path of the internal listener; bounds are those of `fetchBounded`. */
export type AskAuthorizationServer = (
  path: string,
  init: RequestInit & { signal: AbortSignal },
) => Promise<BoundedAnswer>

/**
 * Asks the instance that answered last. One that cannot be reached, or loses the connection, is passed over for the
 * next at once, so only ask what may be asked twice; one that does not answer in time, by the next to ask. One that
 * answers wrongly is not: the others share its stores.
 *
 * @param urls internal listeners such as `http://auth:8091`, at least one
 */
export function askAuthorizationServer(urls: readonly string[]): AskAuthorizationServer {
  let at = 0
  return async (path, init) => {
    for (let tried = 1; ; tried += 1) {
      const asked = at
      try {
        return await fetchBounded(`${urls[asked]}${path}`, init)
      } catch (error) {
        const { aborted } = init.signal
        if (!aborted && !isAway(error)) throw error
        // Another request may have passed over it meanwhile.
        if (at === asked) at = (asked + 1) % urls.length
        if (aborted || tried >= urls.length) throw error
      }
    }
  }
}

/** What undici gives as the cause where nothing was answered. */
const isAway = (error: unknown) =>
  error instanceof TypeError && error.cause instanceof Error && 'code' in error.cause

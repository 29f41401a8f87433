import { waitUntil } from '@plainpath/stack/managed-process'

const TIMEOUT_MS = 60_000
/** Matches the error messages of refused requests and commands. Commands of earlier releases print `does not answer`. */
const REFUSED = /\b503\b|unavailable|does not answer/

/**
 * Repeats an action for up to 60 s while it is refused, for example by a service that has just started on a busy
 * machine. Do not use it for an action under test.
 *
 * @throws the last refusal after 60 s, and any other error immediately
 */
export async function retryWhileRefused<T>(action: () => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined
  let lastRefusal: unknown
  await waitUntil(async () => {
    try {
      result = { value: await action() }
    } catch (error) {
      if (!(error instanceof Error && REFUSED.test(error.message))) throw error
      lastRefusal = error
    }
    return result !== undefined
  }, TIMEOUT_MS)
  if (!result) throw lastRefusal
  return result.value
}

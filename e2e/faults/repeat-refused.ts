import { waitUntil } from '@plainpath/stack/managed-process'

const PATIENCE_MS = 60_000
/** Matches the message of a refused request, and of a refused command. */
const REFUSED = /\b503\b|unavailable|does not answer/

/** Repeats an action that a machine refuses while it is busy starting processes. Do not use it for an action under test. */
export async function repeatRefused<T>(action: () => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined
  let refusal: unknown
  await waitUntil(async () => {
    try {
      result = { value: await action() }
    } catch (error) {
      if (!(error instanceof Error && REFUSED.test(error.message))) throw error
      refusal = error
    }
    return result !== undefined
  }, PATIENCE_MS)
  if (!result) throw refusal
  return result.value
}

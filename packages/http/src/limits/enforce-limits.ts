import type { Context } from 'koa'
import { Problem } from '../problems/problem.ts'
import type { LimitState } from './limit-store.ts'

/**
 * Adds the states to the response headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers),
 * after the states of earlier calls for the same request. Then refuses the request if it exceeded a limit.
 *
 * @throws {Problem} `rate-limited` if a limit is exceeded
 */
export function enforceLimits(ctx: Context, ...states: readonly LimitState[]): void {
  const allStates: LimitState[] = [...((ctx.state['limits'] as LimitState[] | undefined) ?? []), ...states]
  ctx.state['limits'] = allStates
  if (allStates.length === 0) return
  ctx.set(formatLimitHeaders(allStates))
  const refusingState = states.find((state) => !state.allowed)
  if (refusingState) throw createRateLimitedProblem(refusingState)
}

/**
 * Creates the problem for a request that exceeded a limit.
 *
 * @param detail another sentence for the client
 */
export function createRateLimitedProblem({ policy, resetSeconds }: LimitState, detail = ''): Problem {
  const description = `The limit "${policy.name}" allows ${policy.quota} in ${policy.windowSeconds} seconds.`
  return new Problem('rate-limited', {
    detail: [description, `Try again in ${resetSeconds} seconds.`, detail].filter(Boolean).join(' '),
    headers: { 'retry-after': String(resetSeconds) },
    extensions: { policy: policy.name },
  })
}

/** Formats the response headers `RateLimit-Policy` and `RateLimit`. */
export function formatLimitHeaders(states: readonly LimitState[]) {
  let policies = ''
  let remainders = ''
  for (const { policy, remaining, resetSeconds } of states) {
    const separator = policies === '' ? '' : ', '
    policies += `${separator}"${policy.name}";q=${policy.quota};w=${policy.windowSeconds}`
    remainders += `${separator}"${policy.name}";r=${remaining};t=${resetSeconds}`
  }
  return { 'ratelimit-policy': policies, ratelimit: remainders }
}

import { formatCount } from '@plainpath/domain'
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
  if (refusingState) {
    const { policy, resetSeconds } = refusingState
    throw createRateLimitedProblem({
      policyName: policy.name,
      reason: `The limit "${policy.name}" allows ${policy.quota} in ${formatCount(policy.windowSeconds, 'second')}.`,
      resetSeconds,
    })
  }
}

/** Why a limit refuses a request. */
export interface LimitRefusal {
  readonly policyName: string
  /** A sentence for the client that says what the limit allows. */
  readonly reason: string
  /** The number of seconds after which the client may try again. */
  readonly resetSeconds: number
}

/** Creates the problem `rate-limited` for a request that a limit refuses. */
export const createRateLimitedProblem = ({ policyName, reason, resetSeconds }: LimitRefusal): Problem =>
  new Problem('rate-limited', {
    detail: `${reason} Try again in ${formatCount(resetSeconds, 'second')}.`,
    headers: { 'retry-after': String(resetSeconds) },
    extensions: { policy: policyName },
  })

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

import type { Context } from 'koa'
import { Problem } from '../problems/problem.ts'
import type { LimitState } from './limit-store.ts'

/**
 * Announces the states in `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), beside
 * those announced earlier in the request.
 *
 * @throws {Problem} `rate-limited` when one of them refuses
 */
export function spendLimits(ctx: Context, ...states: readonly LimitState[]): void {
  const spent: LimitState[] = [...((ctx.state['limits'] as LimitState[] | undefined) ?? []), ...states]
  ctx.state['limits'] = spent
  if (spent.length === 0) return
  ctx.set(limitFields(spent))
  const refusing = states.find((state) => !state.allowed)
  if (!refusing) return
  const { policy, resetSeconds } = refusing
  throw new Problem('rate-limited', {
    detail: `The limit "${policy.name}" allows ${policy.quota} in ${policy.windowSeconds} seconds. Try again in ${resetSeconds} seconds.`,
    headers: { 'retry-after': String(resetSeconds) },
    extensions: { policy: policy.name },
  })
}

/** The fields that announce them. */
export function limitFields(spent: readonly LimitState[]) {
  let policies = ''
  let left = ''
  for (const { policy, remaining, resetSeconds } of spent) {
    const before = policies === '' ? '' : ', '
    policies += `${before}"${policy.name}";q=${policy.quota};w=${policy.windowSeconds}`
    left += `${before}"${policy.name}";r=${remaining};t=${resetSeconds}`
  }
  return { 'ratelimit-policy': policies, ratelimit: left }
}

import type { Context } from 'koa'
import { Problem } from '../problems/problem.ts'
import type { LimitState } from './limit-store.ts'

/**
 * Adds the states to the response headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), after
 * those of earlier calls for the same request.
 *
 * @throws {Problem} `rate-limited` when one of the states refuses
 */
export function spendLimits(ctx: Context, ...states: readonly LimitState[]): void {
  const spent: LimitState[] = [...((ctx.state['limits'] as LimitState[] | undefined) ?? []), ...states]
  ctx.state['limits'] = spent
  if (spent.length === 0) return
  ctx.set(limitFields(spent))
  const refusing = states.find((state) => !state.allowed)
  if (!refusing) return
  throw rateLimited(refusing)
}

/** Creates the problem of a refused request. @param detail a further sentence for the caller */
export function rateLimited({ policy, resetSeconds }: LimitState, detail = ''): Problem {
  const limit = `The limit "${policy.name}" allows ${policy.quota} in ${policy.windowSeconds} seconds.`
  return new Problem('rate-limited', {
    detail: [limit, `Try again in ${resetSeconds} seconds.`, detail].filter(Boolean).join(' '),
    headers: { 'retry-after': String(resetSeconds) },
    extensions: { policy: policy.name },
  })
}

/** Formats the response headers `RateLimit-Policy` and `RateLimit`. */
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

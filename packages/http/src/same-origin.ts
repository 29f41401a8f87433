import type { Context } from 'koa'
import { Problem } from './problem.ts'

/**
 * Refuses a form that a browser sends for a page of another origin. `Sec-Fetch-Site` decides; a browser without it
 * says `Origin`. Whoever sends neither is no browser with a page of somebody else's open.
 *
 * @param unguessable the form holds a secret of its page, which hides where it is: `Origin: null` is then no refusal
 * @throws {Problem} 403 `cross-site-request`
 */
export function requireSameOrigin(ctx: Context, unguessable = false): void {
  const site = ctx.get('sec-fetch-site')
  const origin = ctx.get('origin')
  const fromOurs = !origin || hostOf(origin) === ctx.host || (unguessable && origin === 'null')
  const same = site ? site === 'same-origin' || site === 'none' : fromOurs
  if (!same)
    throw new Problem('cross-site-request', {
      detail: 'Forms of other sites are refused. Open the page of this form here, and send it again.',
    })
}

/** A page that hides where it is says `null`, which is nobody's host. */
const hostOf = (origin: string) => URL.parse(origin)?.host

import { sha256 } from '@plainpath/sealing'
import type { ActiveAnswer, IntrospectFor, Introspection } from './introspection.ts'
import type { IntrospectionMetrics } from './introspection-client.ts'
import type { LookUp, RevocationMember } from './revocation-member.ts'

/**
 * Asks the authorization server only for what cannot be had from memory, or from a look-up under way. Only answers that
 * say `active` are kept: what is inactive costs whoever sends it a look-up each time, and may be counted and refused.
 *
 * @param deps.clock the member's: milliseconds that only rise
 */
export function cachedIntrospection(deps: {
  introspect: IntrospectFor
  member: Pick<RevocationMember, 'ask' | 'answered' | 'find'>
  clock: { now(): number }
  metrics: Pick<IntrospectionMetrics, 'asked'>
}): { introspect: IntrospectFor; known: (token: string) => ActiveAnswer | undefined } {
  const { introspect, member, clock, metrics } = deps
  const underWay = new WeakMap<LookUp, Promise<Introspection>>()

  async function lookUp(token: string, address: string, asked: LookUp): Promise<Introspection> {
    let answer: Introspection | undefined
    try {
      answer = await introspect(token, address)
      return answer
    } finally {
      member.answered(asked, answer, clock.now())
    }
  }

  const hashOf = (token: string) => sha256(token).toString('base64url')

  async function introspectOrRemember(token: string, address: string): Promise<Introspection> {
    const asked = member.ask(hashOf(token), clock.now())
    metrics.asked(asked.how)
    if (asked.how === 'kept') return asked.answer
    if (asked.how === 'alone') return introspect(token, address)
    const known = underWay.get(asked.lookUp)
    if (known) return known
    const found = lookUp(token, address, asked.lookUp)
    underWay.set(asked.lookUp, found)
    return found
  }

  return {
    introspect: introspectOrRemember,
    known(token) {
      const answer = member.find(hashOf(token), clock.now())
      if (answer) metrics.asked('kept')
      return answer
    },
  }
}

import { canonicalEmail, type JoinWaitlistRequest } from '@plainpath/domain'
import type { RequestFacts } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import { WAITLIST_EMAIL } from '../limits.ts'
import type { JoinWaitlist } from './join-waitlist.ts'

/**
 * Joins as a program is answered, by the route and by the tool alike.
 *
 * @throws {Problem} 429 when too many asked for this mailbox; and what the store throws
 */
export function answerJoin(deps: { joinWaitlist: JoinWaitlist; urls: ServiceUrls }) {
  return async (asked: z.output<typeof JoinWaitlistRequest>, request: Pick<RequestFacts, 'take'>) => {
    const canonical = canonicalEmail(asked.email)
    if (canonical === undefined) throw new Error('an address without a canonical form passed its schema')
    await request.take(WAITLIST_EMAIL, canonical)
    const joined = await deps.joinWaitlist({ ...asked, canonicalEmail: canonical })
    if (!joined.ok) return { status: 'already_joined' } as const
    const { referralSlug } = joined.value
    return { status: 'joined', referralSlug, referralUrl: deps.urls.referral(referralSlug) } as const
  }
}

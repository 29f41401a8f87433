import { randomBytes, randomUUID } from 'node:crypto'
import {
  canonicalEmail,
  type JoinWaitlistRequest,
  ok,
  ReferralSlug,
  type Result,
  RULES,
} from '@plainpath/domain'
import type { RequestFacts } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import type { z } from 'zod'
import { WAITLIST_EMAIL } from '../limits.ts'
import { newLink } from '../link-secret.ts'
import { joinedMail } from './waitlist-mails.ts'
import type { WaitlistStore } from './waitlist-store.ts'

export type JoinWaitlist = (
  /** `referredBySlug` is not verified: it counts only if it is the slug of an entry. */
  person: z.output<typeof JoinWaitlistRequest>,
  request: Pick<RequestFacts, 'take' | 'network'>,
) => Promise<Result<{ referralSlug: ReferralSlug }, 'already-joined'>>

/**
 * Adds a person to the waitlist, once for each mailbox, and queues the one mail that follows. If the mailbox is already on the
 * list but its mail was dropped or given up, queues the mail again with new links.
 *
 * @returns `already-joined` for a mailbox on the list, with nothing about its entry
 * @throws {Problem} 429 when there were too many requests for this mailbox, or too many mails wait; and errors of the store.
 *   After such an error the entry may or may not be stored; joining again is safe.
 */
export const joinWaitlist =
  (deps: {
    waitlist: Pick<WaitlistStore, 'add' | 'findUnsent' | 'addMailAgain'>
    urls: ServiceUrls
    now: () => Date
  }): JoinWaitlist =>
  async ({ email, referredBySlug }, request) => {
    const mailbox = canonicalMailbox(email)
    await request.take(WAITLIST_EMAIL, mailbox)
    const referrer = ReferralSlug.safeParse(referredBySlug)
    const referralSlug = newReferralSlug()
    const [confirm, remove] = [newLink(), newLink()]
    const secrets = { confirmSecret: confirm.secret, removeSecret: remove.secret }
    const joiningMail = (slug: ReferralSlug) => ({
      canonicalEmail: mailbox,
      confirmLink: confirm.stored,
      removeLink: remove.stored,
      mail: {
        ...joinedMail(deps.urls, { email, referralSlug: slug, ...secrets }),
        sender: request.network(),
      },
    })
    const added = await deps.waitlist.add({
      id: randomUUID(),
      email,
      referralSlug,
      ...(referrer.success && { referredBySlug: referrer.data }),
      joinedAt: deps.now(),
      ...joiningMail(referralSlug),
    })
    if (added.ok) return ok({ referralSlug })
    const unsent = await deps.waitlist.findUnsent(mailbox)
    if (unsent !== undefined) await deps.waitlist.addMailAgain(joiningMail(unsent), deps.now())
    return added
  }

/** Creates the function with which the route and the tool join the waitlist. It returns the body of the response. */
export function joinForPrograms(deps: { joinWaitlist: JoinWaitlist; urls: ServiceUrls }) {
  return async (...joinArguments: Parameters<JoinWaitlist>) => {
    const joined = await deps.joinWaitlist(...joinArguments)
    if (!joined.ok) return { status: 'already_joined' } as const
    const { referralSlug } = joined.value
    return { status: 'joined', referralSlug, referralUrl: deps.urls.referral(referralSlug) } as const
  }
}

/** Returns the form in which two spellings of a mailbox are equal. @param email an address that passed its schema */
export function canonicalMailbox(email: string): string {
  const canonical = canonicalEmail(email)
  if (canonical === undefined) throw new Error('an address without a canonical form passed its schema')
  return canonical
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** 80 random bits. */
function newReferralSlug(): ReferralSlug {
  const letters = Array.from(
    randomBytes(RULES.referralSlugCharacters),
    (byte) => BASE32[byte % BASE32.length],
  )
  return ReferralSlug.parse(letters.join(''))
}

import { randomUUID } from 'node:crypto'
import {
  canonicalizeEmail,
  type JoinWaitlistRequest,
  ok,
  ReferralSlug,
  type Result,
  RULES,
} from '@plainpath/domain'
import type { RequestFacts } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { drawRandomBytes } from '@plainpath/sealing'
import type { z } from 'zod'
import { WAITLIST_EMAIL } from '../limits.ts'
import { createLink } from '../link-secret.ts'
import { composeJoinedMail } from './waitlist-mails.ts'
import type { WaitlistStore } from './waitlist-store.ts'

/**
 * Adds a person to the waitlist, once per mailbox, and queues a mail to them. If the mailbox is already on the list but its mail
 * was dropped or failed permanently, queues the mail again with new links.
 *
 * @returns the slug of the new entry; or the error `already-joined`, which says nothing else about the entry of the mailbox
 * @throws {Problem} 429 after too many requests for this mailbox, or when too many mails wait. Also rethrows store errors. After a
 *   store error, the entry may have been stored, and joining again is safe
 */
export type JoinWaitlist = (
  /** `referredBySlug` may be any text. It is ignored unless it is the slug of an entry. */
  person: z.output<typeof JoinWaitlistRequest>,
  request: Pick<RequestFacts, 'take' | 'network'>,
) => Promise<Result<{ referralSlug: ReferralSlug }, 'already-joined'>>

export const createJoinWaitlist =
  (deps: {
    waitlist: Pick<WaitlistStore, 'add' | 'findSlugOfUnsentMail' | 'requeueMail'>
    urls: ServiceUrls
    now: () => Date
  }): JoinWaitlist =>
  async ({ email, referredBySlug }, request) => {
    const mailbox = toCanonicalMailbox(email)
    await request.take(WAITLIST_EMAIL, mailbox)
    const referrer = ReferralSlug.safeParse(referredBySlug)
    const referralSlug = createReferralSlug()
    const confirmLink = createLink()
    const removeLink = createLink()
    const secrets = { confirmSecret: confirmLink.secret, removeSecret: removeLink.secret }
    const composeMailAndLinks = (slug: ReferralSlug) => ({
      canonicalEmail: mailbox,
      confirmLink: confirmLink.stored,
      removeLink: removeLink.stored,
      mail: {
        ...composeJoinedMail(deps.urls, { email, referralSlug: slug, ...secrets }),
        requesterNetwork: request.network(),
      },
    })
    const addition = await deps.waitlist.add({
      id: randomUUID(),
      email,
      referralSlug,
      ...(referrer.success && { referredBySlug: referrer.data }),
      joinedAt: deps.now(),
      ...composeMailAndLinks(referralSlug),
    })
    if (addition.ok) return ok({ referralSlug })
    const unsentSlug = await deps.waitlist.findSlugOfUnsentMail(mailbox)
    if (unsentSlug !== undefined) await deps.waitlist.requeueMail(composeMailAndLinks(unsentSlug), deps.now())
    return addition
  }

/** Creates a `JoinWaitlist` for the route and the MCP tool: its function also describes the outcome, as a response body. */
export function createJoinAndDescribe(deps: { joinWaitlist: JoinWaitlist; urls: ServiceUrls }) {
  return async (
    person: z.output<typeof JoinWaitlistRequest>,
    request: Pick<RequestFacts, 'take' | 'network'>,
  ) => {
    const addition = await deps.joinWaitlist(person, request)
    if (!addition.ok) return { status: 'already_joined' } as const
    const { referralSlug } = addition.value
    return { status: 'joined', referralSlug, referralUrl: deps.urls.referral(referralSlug) } as const
  }
}

/** Returns a mailbox's canonical address, which is the same for all its spellings. Parse `email` with `EmailAddress` first. */
export function toCanonicalMailbox(email: string): string {
  const canonical = canonicalizeEmail(email)
  if (canonical === undefined) throw new Error('EmailAddress accepted an address without a canonical form')
  return canonical
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * Creates a slug of 80 random bits, as 16 base32 characters. Each character is equally likely, because the number of byte values
 * is a multiple of 32.
 */
function createReferralSlug(): ReferralSlug {
  const letters = Array.from(
    drawRandomBytes(RULES.referralSlugCharacters),
    (byte) => BASE32[byte % BASE32.length],
  )
  return ReferralSlug.parse(letters.join(''))
}

import { z } from 'zod'
import { EmailAddress } from './email-address.ts'
import { RULES } from './rules.ts'

/** Identifies a waitlist entry in a referral link. Its random characters reveal nothing about the order of entries. */
export const ReferralSlug = z
  .string()
  .regex(new RegExp(`^[a-z2-7]{${RULES.referralSlugCharacters}}$`))
  .brand<'ReferralSlug'>()
export type ReferralSlug = z.infer<typeof ReferralSlug>

/** The body of `POST /waitlist`. Any referrer is accepted, but counts only if it is the slug of an entry. */
export const JoinWaitlistRequest = z.strictObject({
  email: EmailAddress,
  referredBySlug: z
    .string()
    .max(100, 'must be at most 100 characters')
    .nullish()
    .meta({ description: 'The slug of the person who made the referral. An unknown slug is accepted.' }),
})

export const JoinedWaitlist = z.object({
  status: z.literal('joined'),
  referralSlug: ReferralSlug.meta({ description: 'Identifies the entry in its referral link.' }),
  referralUrl: z.url().meta({ description: 'The link to give to others.' }),
})

/** The response for an address on the waitlist. It reveals nothing about the entry, because the caller may be anybody. */
export const AlreadyOnWaitlist = z.object({ status: z.literal('already_joined') })

/** The body of `POST /waitlist/forget`. */
export const ForgetWaitlistRequest = z.strictObject({ email: EmailAddress })

/** The response of `POST /waitlist/forget`. It is the same for every address. */
export const ForgetWaitlistAccepted = z.object({ status: z.literal('accepted') })

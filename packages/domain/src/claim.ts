import { z } from 'zod'
import { IdentityType, Scope } from './agent.ts'
import { EmailAddress } from './email-address.ts'
import { numberInWords } from './in-words.ts'
import { RULES } from './rules.ts'

/*
 * The requests and responses of e-mail verification, by which a person confirms an agent. The public API calls it a claim.
 */

/**
 * The id of an e-mail verification. It is generated when an attempt begins. If the attempt succeeds, the verification has
 * the same id.
 */
export const RegistrationId = z.string().regex(/^clm_[A-Za-z0-9_-]{22}$/)
export type RegistrationId = z.infer<typeof RegistrationId>

/** An e-mail verification that has neither expired nor been revoked. */
export interface LiveVerification {
  readonly id: RegistrationId
  readonly expiresAt: Date
}

const ClaimAttemptId = z.string().regex(/^cla_[A-Za-z0-9_-]{22}$/)

/** The body of `POST /agent/claim`. Unknown members, such as the `claim_token` that similar protocols use, are ignored. */
export const BeginClaimRequest = z
  .object({
    email: EmailAddress.nullish().meta({
      format: 'email',
      description: 'The address of the person you act for. Ask the person before you send it.',
    }),
    login_hint: EmailAddress.nullish().meta({ format: 'email', description: 'An alias of `email`.' }),
  })
  .refine(({ email, login_hint: hint }) => email ?? hint, { path: ['email'], error: 'is missing' })
  .refine(({ email, login_hint: hint }) => !email || !hint || email === hint, {
    path: ['login_hint'],
    error: 'must be left out, or be the same as email',
  })

const Timestamp = z.iso.datetime()

/** The response of `POST /agent/claim`. It has the same form for every address. */
export const BegunClaim = z.object({
  registration_id: RegistrationId.meta({ description: 'The id of the e-mail verification.' }),
  claim_attempt_id: ClaimAttemptId,
  status: z.literal('initiated'),
  match_phrase: z.string().meta({
    description: 'Two words to show to the person. The page behind the mailed link shows the same words.',
  }),
  expires_at: Timestamp.meta({ description: 'When the mailed link expires.' }),
  delivery: z.object({
    method: z.literal('email'),
    to: z.string().meta({ description: 'The address, mostly masked.' }),
  }),
  otp_length: z.int().meta({ description: 'The number of digits of the code.' }),
  attempts_allowed: z
    .int()
    .meta({ description: 'How many codes you may send for this attempt, right or wrong.' }),
  resend_after: z.int().meta({
    description: 'Seconds until another mail to the mailbox can be requested.',
  }),
})

const EnteredCode = z.string().min(1).max(RULES.enteredCodeCharacters)

/** The body of `POST /agent/claim/complete`. Unknown members are ignored. */
export const CompleteClaimRequest = z
  .object({
    otp: EnteredCode.nullish().meta({
      description: `The ${numberInWords(RULES.verificationCodeDigits)} digits that the person read to you, as a string. Spaces and hyphens are ignored.`,
    }),
    user_code: EnteredCode.nullish().meta({ description: 'An alias of `otp`.' }),
    claim_attempt_id: ClaimAttemptId.nullish().meta({
      description: 'If absent, your newest attempt is completed.',
    }),
  })
  .refine(({ otp, user_code: code }) => otp ?? code, { path: ['otp'], error: 'is missing' })
  .refine(({ otp, user_code: code }) => !otp || !code || otp === code, {
    path: ['user_code'],
    error: 'must be left out, or be the same as otp',
  })

/** The response of `POST /agent/claim/complete`. */
export const CompletedClaim = z.object({
  registration_id: RegistrationId,
  claim_attempt_id: ClaimAttemptId,
  status: z.literal('completed'),
  identity_type: IdentityType,
  identity_assertion: z.string().meta({ description: 'A JWT that your client can exchange for tokens.' }),
  expires: Timestamp.meta({ description: 'When the assertion expires.' }),
  claim_expires_at: Timestamp.meta({
    description: 'When the e-mail verification expires, unless it is revoked earlier.',
  }),
  grant_types: z.array(z.string()),
  scopes: z
    .array(Scope)
    .meta({ description: 'The scopes that a token obtained with the assertion can have.' }),
  scope: z.string().meta({ description: 'The same scopes, separated by spaces.' }),
  token_endpoint: z.url(),
})

/** The response of `POST /agent/assertion`. */
export const RenewedAssertion = CompletedClaim.omit({ claim_attempt_id: true, status: true })

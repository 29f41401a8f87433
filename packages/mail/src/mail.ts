import { canonicalEmail } from '@plainpath/domain'
import { z } from 'zod'

const Address = z.string().refine((text) => canonicalEmail(text) !== undefined && text === text.trim(), {
  message: 'is not one e-mail address',
})

/** A header line (RFC 5322 §2.2) without the characters that could end or hide it: control characters, Unicode line ends. */
const Line = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(text), {
    message: 'must be one line without control characters',
  })

const Text = z
  .string()
  .min(1)
  .max(20_000)
  .refine((text) => text.isWellFormed() && !/[^\P{Cc}\n\t]/u.test(text), {
    message: 'must have no control characters but line ends and tabs',
  })

/** The addressee and the plain text of a mail: the part that is stored sealed. */
export const MailContent = z.strictObject({
  /** In the spelling that the person typed. */
  to: Address,
  subject: Line,
  /** Lines end in `\n`. */
  text: Text,
  replyTo: Address.optional(),
})
export type MailContent = z.infer<typeof MailContent>

export interface Mail extends MailContent {
  /** Which of the app's mails it is, such as `waitlist-joined`: a label of metrics. */
  readonly kind: string
  /** The id of what it is about, for the handlers of its kind. Never an address. */
  readonly about: string
  /** The network that requested it, as `RequestFacts.network` returns it. Absent for a mail without a cap. */
  readonly sender?: string
  /** Whether a person is known to have asked for it: part of each cap is reserved for such mails. */
  readonly askedFor?: boolean
}

/**
 * How a mail was settled. `sent`: the server accepted it. `dropped`: its handler no longer wants it, the cap of its mailbox is
 * used up, or it waited too long for room under a shared cap. `dead`: the server refused it permanently, or every attempt
 * failed.
 */
export type MailOutcome = 'sent' | 'dropped' | 'dead'

/** The sealing context of a mail's content, which binds the ciphertext to its row. */
export const contentEncryptionContext = (id: string) => `mails/${id}/mail`

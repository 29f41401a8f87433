import { canonicalizeEmail } from '@plainpath/domain'
import { z } from 'zod'

const Address = z.string().refine((text) => canonicalizeEmail(text) !== undefined && text === text.trim(), {
  message: 'is not one e-mail address',
})

/** The value of a header (RFC 5322 §2.2) without characters that could end or hide it: control characters and Unicode line ends. */
const HeaderLine = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(text), {
    message: 'must be one line without control characters',
  })

const BodyText = z
  .string()
  .min(1)
  .max(20_000)
  .refine((text) => text.isWellFormed() && !/[^\P{Cc}\n\t]/u.test(text), {
    message: 'must have no control characters except line ends and tabs',
  })

/** The content of a mail. It is stored encrypted. */
export const MailContent = z.strictObject({
  /** The address as the person typed it. */
  to: Address,
  subject: HeaderLine,
  /** Lines end in `\n`. */
  text: BodyText,
  replyTo: Address.optional(),
})
export type MailContent = z.infer<typeof MailContent>

export interface Mail extends MailContent {
  /** The mail kind, such as `waitlist-joined`. It is a metric label. */
  readonly kind: string
  /** The id of the mail's subject, such as a message, for the handlers of this kind. Never an address. */
  readonly about: string
  /** The network that requested the mail, as in `RequestFacts.network`. Without it, `WaitingMailBounds` do not apply to the mail. */
  readonly requesterNetwork?: string
  /**
   * True if a person is known to have requested the mail. Such mails are sent before others, a part of each shared cap is reserved
   * for them, and they count under a mailbox cap of their own.
   */
  readonly isRequestedByPerson?: boolean
}

/**
 * The outcome of a mail:
 * - `sent`: the server accepted it.
 * - `dropped`: its handler no longer wants it, its mailbox cap is used up, or it waited too long for room under a shared cap.
 * - `dead`: the server refused its recipient permanently, or its last attempt failed.
 */
export type MailOutcome = 'sent' | 'dropped' | 'dead'

/** Returns the encryption context that binds a mail's content to its row. */
export const toContentEncryptionContext = (id: string) => `mails/${id}/mail`

import type { MailContent } from './mail.ts'

/** A mail as every delivery of it goes out. */
export interface OutgoingMail extends MailContent {
  /** Without the angle brackets. */
  readonly messageId: string
  readonly from: string
  readonly date: Date
}

export interface MailTransport extends Disposable {
  /**
   * Returns when the mail was accepted.
   *
   * @throws {DeliveryError}
   */
  send(mail: OutgoingMail): Promise<void>
  /** Takes away what it kept for too long. */
  sweep?(now: Date): Promise<void>
}

/** A delivery that failed, without a word of what the server or the mail said: such words hold addresses. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /** The server refused the addressee for good (RFC 5321 §4.2.1, 5yz to RCPT): trying again is of no use. */
  readonly refused: boolean

  constructor(reason: { code: string; responseCode?: number | undefined; refused?: boolean }) {
    super(`not delivered: ${reason.code}${reason.responseCode ? ` (${reason.responseCode})` : ''}`)
    this.refused = reason.refused ?? false
  }
}

/** The one way in which a mail becomes a message (RFC 5322), for every transport. */
export const messageOf = (mail: OutgoingMail) => ({
  from: { name: 'Plainpath', address: mail.from },
  to: { name: '', address: mail.to },
  ...(mail.replyTo !== undefined && { replyTo: { name: '', address: mail.replyTo } }),
  subject: mail.subject,
  text: mail.text,
  messageId: `<${mail.messageId}>`,
  date: mail.date,
  // RFC 3834 §5: keeps holiday notices and other robots from answering.
  headers: { 'Auto-Submitted': 'auto-generated' },
  envelope: { from: mail.from, to: [mail.to] },
  disableFileAccess: true,
  disableUrlAccess: true,
})

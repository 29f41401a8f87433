export { eraseMails } from './erase-mails.ts'
export { type Mail, MailContent, type MailOutcome } from './mail.ts'
export { type MailCaps, scaledMailCaps } from './mail-caps.ts'
export { type MailQueue, mailQueue } from './mail-queue.ts'
export {
  MailFrom,
  type MailSettings,
  mailSettings,
  mailTransport,
  SmtpUrl,
  smtpMistake,
} from './mail-settings.ts'
export { DeliveryError, type MailTransport, type OutgoingMail } from './mail-transport.ts'
export { mailboxOf } from './mailbox.ts'
export { type Mailer, type MailerOptions, openMailer } from './open-mailer.ts'
export { outboxTransport } from './outbox-transport.ts'
export { insertMail, type SealedMail } from './sealed-mail.ts'
export type { MailHandler } from './send-mail.ts'
export { smtpTransport } from './smtp-transport.ts'
export { type MailTeller, tellMails } from './tell-mails.ts'

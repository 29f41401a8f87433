export { type Mail, MailContent, type MailOutcome } from './mail.ts'
export { type MailCaps, mailboxOf, scaledMailCaps } from './mail-caps.ts'
export {
  insertMail,
  type MailQueue,
  type MailTeller,
  mailQueue,
  type SealedMail,
  tellMails,
} from './mail-queue.ts'
export {
  MailFrom,
  type MailSettings,
  mailSettings,
  mailTransport,
  SmtpUrl,
  smtpMistake,
} from './mail-settings.ts'
export {
  DeliveryError,
  type MailTransport,
  type OutgoingMail,
  outboxTransport,
  smtpTransport,
} from './mail-transport.ts'
export { type Mailer, type MailerOptions, openMailer } from './open-mailer.ts'
export type { MailHandler } from './send-mail.ts'
export { eraseMails } from './stored-mail.ts'

export { eraseMails } from './erase-mails.ts'
export { type Mail, MailContent } from './mail.ts'
export { scaledMailCaps } from './mail-caps.ts'
export { type MailQueue, mailQueue } from './mail-queue.ts'
export {
  MailFrom,
  mailSettings,
  mailTransport,
  SmtpUrl,
  smtpMistake,
} from './mail-settings.ts'
export { mailboxOf } from './mailbox.ts'
export { type Mailer, type MailerOptions, openMailer } from './open-mailer.ts'
export { insertMail } from './sealed-mail.ts'
export type { MailHandler } from './send-mail.ts'
export { smtpTransport } from './smtp-transport.ts'
export { type MailTeller, tellMails } from './tell-mails.ts'

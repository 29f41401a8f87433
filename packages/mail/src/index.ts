export { MailContent } from './mail.ts'
export { mailboxOf, scaledMailCaps, scaledWaitingBounds } from './mail-caps.ts'
export {
  insertMail,
  type MailQueue,
  type MailTeller,
  mailQueue,
  mayWait,
  tellMails,
  tooManyMailsWaiting,
} from './mail-queue.ts'
export { MailFrom, mailSettings, mailTransport, SmtpUrl, smtpMistake } from './mail-settings.ts'
export { type Mailer, openMailer } from './open-mailer.ts'
export type { MailHandler } from './send-mail.ts'
export { eraseMails, isBeingSent } from './stored-mail.ts'

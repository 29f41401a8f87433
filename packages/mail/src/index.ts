export { MailContent } from './mail.ts'
export { parseMailbox, scaledMailCaps, scaledWaitingBounds } from './mail-caps.ts'
export {
  createMailNotifier,
  insertMail,
  type MailNotifier,
  type MailQueue,
  mailQueue,
  mayWait,
  tooManyMailsWaiting,
} from './mail-queue.ts'
export { findSmtpMistake, MailFrom, mailSettings, mailTransport, SmtpUrl } from './mail-settings.ts'
export { type Mailer, openMailer } from './open-mailer.ts'
export type { MailHandler } from './send-mail.ts'
export { eraseMails, isBeingSent } from './stored-mail.ts'

export { MailContent } from './mail.ts'
export { parseMailbox, scaleMailCaps, scaleWaitingBounds } from './mail-caps.ts'
export {
  buildInsertMail,
  buildWaitingCondition,
  createMailNotifier,
  createMailQueue,
  createTooManyMailsProblem,
  type MailNotifier,
  type MailQueue,
} from './mail-queue.ts'
export {
  completeMailSettings,
  createMailTransport,
  findSmtpMistake,
  MailFrom,
  type MailSettings,
  SmtpUrl,
} from './mail-settings.ts'
export { type Mailer, openMailer } from './open-mailer.ts'
export type { MailHandler } from './send-mail.ts'
export { eraseMails, isBeingSent } from './stored-mail.ts'

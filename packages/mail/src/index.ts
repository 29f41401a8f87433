export { MailContent } from './mail.ts'
export { parseMailbox, scaleMailCaps, scaleWaitingMailBounds } from './mail-caps.ts'
export {
  buildInsertMailSql,
  buildMayStoreMailSql,
  createMailNotifier,
  createMailQueue,
  createTooManyMailsProblem,
  type MailNotifier,
  type MailQueue,
} from './mail-queue.ts'
export {
  addDefaultSender,
  createMailTransport,
  describeMissingSmtpServer,
  MailFrom,
  type MailSettings,
  SmtpUrl,
} from './mail-settings.ts'
export { type Mailer, openMailer } from './open-mailer.ts'
export type { MailHandler } from './send-mail.ts'
export { eraseMails, readDeliveryState } from './stored-mail.ts'

export { type MailServer, type ReceivedMail, startMailServer } from './testing/mail-server.ts'

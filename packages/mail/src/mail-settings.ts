import { z } from 'zod'
import { type MailTransport, outboxTransport, smtpTransport } from './mail-transport.ts'

/** `smtp://user:password@host:587` or `smtps://host:465`. Its error message never quotes the value, which has a password. */
export const SmtpUrl = z.string().refine((text) => {
  const url = URL.parse(text)
  return (
    url !== null &&
    (url.protocol === 'smtp:' || url.protocol === 'smtps:') &&
    url.hostname !== '' &&
    /^\/?$/.test(url.pathname) &&
    !url.search &&
    !url.hash &&
    Boolean(url.username) === Boolean(url.password)
  )
}, 'must be a URL such as smtp://user:password@mail.example.org:587')

/** The address that all mails of an app come from. */
export const MailFrom = z
  .string()
  .max(254)
  .regex(
    /^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/,
    'must be an address such as no-reply@plainpath.example',
  )

/** How an app sends mail. */
export interface MailSettings {
  /** When undefined, mails are written to `outboxDirectory`: only for an origin that no other machine can reach. */
  readonly smtpUrl: string | undefined
  readonly from: string
  readonly outboxDirectory: string
}

/** @param given.from an address; `no-reply@<host of the origin>` when absent */
export const mailSettings = (settings: {
  origin: string
  smtpUrl: string | undefined
  from: string | undefined
  outboxDirectory: string
}): MailSettings => ({
  smtpUrl: settings.smtpUrl,
  from: settings.from ?? `no-reply@${new URL(settings.origin).hostname.replace(/^\[.*\]$/, 'localhost')}`,
  outboxDirectory: settings.outboxDirectory,
})

/** Returns the error message for an `https` origin without a mail server; undefined when the settings are valid. */
export const findSmtpMistake = (origin: string, smtpUrl: string | undefined): string | undefined =>
  smtpUrl === undefined && origin.startsWith('https:')
    ? 'is missing: mail of an https origin needs a server, such as smtp://user:password@mail.example.org:587'
    : undefined

/** @param announce receives a line with the link of each mail that is written to a file */
export const mailTransport = (settings: MailSettings, announce: (line: string) => void): MailTransport =>
  settings.smtpUrl === undefined
    ? outboxTransport({ directory: settings.outboxDirectory, announce })
    : smtpTransport(settings.smtpUrl)

import { z } from 'zod'
import { createOutboxTransport, createSmtpTransport, type MailTransport } from './mail-transport.ts'

/** `smtp://user:password@host:587` or `smtps://host:465`. The error message does not quote the URL, which may contain a password. */
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

/** The sender address of an app's mails. At most 254 characters, with a local part of at most 64 (RFC 5321 §4.5.3.1). */
export const MailFrom = z
  .string()
  .max(254)
  .regex(
    /^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/,
    'must be an address such as no-reply@plainpath.example',
  )

/** The settings with which an app sends mail. */
export interface MailSettings {
  /** If undefined, mails are written to `outboxDirectory`, which is allowed only for an origin that no other machine can reach. */
  readonly smtpUrl: string | undefined
  readonly from: string
  readonly outboxDirectory: string
}

/**
 * Adds a default sender if the settings name none.
 *
 * @param settings.from an address; by default `no-reply@<host of the origin>`
 */
export const addDefaultSender = (settings: {
  origin: string
  smtpUrl: string | undefined
  from: string | undefined
  outboxDirectory: string
}): MailSettings => ({
  smtpUrl: settings.smtpUrl,
  // `MailFrom` does not accept an IPv6 address in brackets as a domain.
  from: settings.from ?? `no-reply@${new URL(settings.origin).hostname.replace(/^\[.*\]$/, 'localhost')}`,
  outboxDirectory: settings.outboxDirectory,
})

/** Returns the error message for an `https` origin without a mail server; undefined if the settings are valid. */
export const describeMissingSmtpServer = (origin: string, smtpUrl: string | undefined): string | undefined =>
  smtpUrl === undefined && origin.startsWith('https:')
    ? 'is missing: an https origin needs a mail server, such as smtp://user:password@mail.example.org:587'
    : undefined

/**
 * Creates the transport that the settings select: SMTP if they have a URL, otherwise files.
 *
 * @param announce called with one line for each mail that is written to a file. The line contains the mail's link or subject
 */
export const createMailTransport = (
  settings: MailSettings,
  announce: (line: string) => void,
): MailTransport =>
  settings.smtpUrl === undefined
    ? createOutboxTransport({ directory: settings.outboxDirectory, announce })
    : createSmtpTransport(settings.smtpUrl)

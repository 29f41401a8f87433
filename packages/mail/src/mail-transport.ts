import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { DAY_MS } from '@plainpath/domain'
import { createTransport } from 'nodemailer'
import { z } from 'zod'
import type { MailContent } from './mail.ts'

/** A mail with its headers, which are the same in every delivery attempt. */
export interface OutgoingMail extends MailContent {
  /** The Message-ID without angle brackets. */
  readonly messageId: string
  readonly from: string
  readonly date: Date
}

/** Delivers mails over SMTP, or stores them as files. */
export interface MailTransport extends Disposable {
  /**
   * Delivers a mail. Resolves once the server has accepted it, or the file is written.
   *
   * @throws {DeliveryError} if no acceptance was received; after a timeout the server may still accept the mail
   * @throws {Error} of the file system if the file could not be written
   */
  send(mail: OutgoingMail): Promise<void>
  /** Deletes the mails that the transport stored more than 24 hours ago. Absent if it stores none (SMTP). */
  sweep?(now: Date): Promise<void>
}

/** Thrown for a failed delivery. It contains codes, but no text of the server or the mail, which could contain addresses. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /** True if the server refused the recipient permanently (RFC 5321 §4.2.1, 5yz to RCPT). No retry would help. */
  readonly isRecipientRefused: boolean

  constructor(reason: { code: string; responseCode?: number | undefined; isRecipientRefused?: boolean }) {
    super(`not delivered: ${reason.code}${reason.responseCode ? ` (${reason.responseCode})` : ''}`)
    this.isRecipientRefused = reason.isRecipientRefused ?? false
  }
}

/** Builds the message (RFC 5322) that every transport sends. */
const buildMessage = (mail: OutgoingMail) => ({
  from: { name: 'Plainpath', address: mail.from },
  // As plain text, nodemailer would parse an address as a list of addresses.
  to: { name: '', address: mail.to },
  ...(mail.replyTo !== undefined && { replyTo: { name: '', address: mail.replyTo } }),
  subject: mail.subject,
  text: mail.text,
  messageId: `<${mail.messageId}>`,
  date: mail.date,
  // Asks auto-responders, such as out-of-office replies, not to reply (RFC 3834 §5).
  headers: { 'Auto-Submitted': 'auto-generated' },
  envelope: { from: mail.from, to: [mail.to] },
  disableFileAccess: true,
  disableUrlAccess: true,
})

/** The time limit for each step of connecting: the DNS lookup, the connection, and the server's greeting. */
const CONNECT_MS = 5_000
/** The time limit for silence on an open connection. */
const SOCKET_MS = 20_000
/** The time limit for a whole delivery, even if a slow server keeps sending. After it, the connection is closed. */
const DELIVERY_MS = 60_000

/**
 * The codes of a nodemailer error, without its texts. A code that is not all capitals could contain a text, so it is replaced by
 * EUNKNOWN. `command` serves only to recognise RCPT TO.
 */
const DeliveryFailure = z.object({
  code: z
    .string()
    .regex(/^[A-Z]+$/)
    .catch('EUNKNOWN'),
  responseCode: z.int().optional().catch(undefined),
  command: z.string().optional().catch(undefined),
})

/**
 * Creates a transport that sends over SMTP (RFC 5321), with SMTPUTF8 (RFC 6531) for addresses that need it.
 *
 * @param url `smtp://user:password@host:587` or `smtps://…:465`. With `smtp:`, the server must offer STARTTLS unless its host is
 *   a loopback address or `localhost`
 * @param timeouts in milliseconds; by default 5 s, 20 s and 60 s. For tests
 */
export function createSmtpTransport(
  url: string,
  timeouts: { connectMs?: number; socketMs?: number; deliveryMs?: number } = {},
): MailTransport {
  const { protocol, hostname, port, username, password } = new URL(url)
  const usesTls = protocol === 'smtps:'
  const connectMs = timeouts.connectMs ?? CONNECT_MS
  const transporter = createTransport({
    // nodemailer expects an IPv6 address without brackets.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (usesTls ? 465 : 587),
    secure: usesTls,
    requireTLS: !usesTls && !isLoopbackHost(hostname),
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: timeouts.socketMs ?? SOCKET_MS,
  })
  return {
    async send(mail) {
      const signal = AbortSignal.timeout(timeouts.deliveryMs ?? DELIVERY_MS)
      try {
        await transporter.sendMail({ ...buildMessage(mail), signal })
      } catch (error) {
        throw signal.aborted ? new DeliveryError({ code: 'ETIMEDOUT' }) : toDeliveryError(error)
      }
    },
    [Symbol.dispose]: () => transporter.close(),
  }
}

const isLoopbackHost = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

function toDeliveryError(error: unknown): DeliveryError {
  const { code, responseCode, command } = DeliveryFailure.parse(error)
  const isRecipientRefused = command === 'RCPT TO' && responseCode !== undefined && responseCode >= 500
  return new DeliveryError({ code, responseCode, isRecipientRefused })
}

/**
 * Creates a transport for a service that only this machine can reach. It writes each mail to `<Message-ID>.eml` in a directory
 * (0700, files 0600) and passes a line with its link, or its subject if it has no link, to `announce`. `sweep` deletes the files
 * after 24 hours.
 *
 * @param options.announce receives one line: `Mail for ana@example.org: http://localhost:8080/…`
 */
export function createOutboxTransport(options: {
  directory: string
  announce: (line: string) => void
}): MailTransport {
  const { directory } = options
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    async send(mail) {
      const { message } = await composer.sendMail(buildMessage(mail))
      const name = `${mail.messageId.replaceAll(/[^\w.@-]/g, '_')}.eml`
      // Synchronous, because this takes less processor time than the four asynchronous calls (mkdir, open, write, close). A mail
      // is small.
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      // A Buffer, because the composer has `buffer: true`.
      writeFileSync(path.join(directory, name), message as Buffer, { mode: 0o600 })
      // Skips lines that begin with `| `, because they quote another person.
      const link = /^(?!\| ).*?(https?:\/\/\S+)/m.exec(mail.text)?.[1]
      options.announce(`Mail for ${mail.to}: ${link ?? mail.subject}`)
    },
    async sweep(now) {
      for (const name of await listMailFiles(directory)) {
        const file = path.join(directory, name)
        // Another process may have deleted the file meanwhile.
        const stats = statSync(file, { throwIfNoEntry: false })
        if (stats && stats.mtimeMs < now.getTime() - DAY_MS) await rm(file, { force: true })
      }
    },
    [Symbol.dispose]: () => composer.close(),
  }
}

async function listMailFiles(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.eml'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

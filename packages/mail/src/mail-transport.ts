import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DAY_MS } from '@plainpath/domain'
import { createTransport } from 'nodemailer'
import { z } from 'zod'
import type { MailContent } from './mail.ts'

/** A mail with all that is the same in each delivery of it. */
export interface OutgoingMail extends MailContent {
  /** Without angle brackets. */
  readonly messageId: string
  readonly from: string
  readonly date: Date
}

export interface MailTransport extends Disposable {
  /**
   * Delivers a mail; resolves when it was accepted.
   *
   * @throws {DeliveryError}
   */
  send(mail: OutgoingMail): Promise<void>
  /** Deletes what the transport stored, after 24 hours. */
  sweep?(now: Date): Promise<void>
}

/** A failed delivery. It carries codes but no text of the server or the mail, because such text contains addresses. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /** Whether the server refused the addressee permanently (RFC 5321 §4.2.1, 5yz to RCPT), so that no retry helps. */
  readonly refused: boolean

  constructor(reason: { code: string; responseCode?: number | undefined; refused?: boolean }) {
    super(`not delivered: ${reason.code}${reason.responseCode ? ` (${reason.responseCode})` : ''}`)
    this.refused = reason.refused ?? false
  }
}

/** Builds the message (RFC 5322) that every transport sends. */
const buildMessage = (mail: OutgoingMail) => ({
  from: { name: 'Plainpath', address: mail.from },
  to: { name: '', address: mail.to },
  ...(mail.replyTo !== undefined && { replyTo: { name: '', address: mail.replyTo } }),
  subject: mail.subject,
  text: mail.text,
  messageId: `<${mail.messageId}>`,
  date: mail.date,
  // RFC 3834 §5: keeps holiday notices and other auto-responders from replying.
  headers: { 'Auto-Submitted': 'auto-generated' },
  envelope: { from: mail.from, to: [mail.to] },
  disableFileAccess: true,
  disableUrlAccess: true,
})

const CONNECT_MS = 5_000
const SOCKET_MS = 20_000
/** Bounds a whole delivery, even if a slow server keeps sending. */
const DELIVERY_MS = 60_000

const Failure = z.object({
  code: z
    .string()
    .regex(/^[A-Z]+$/)
    .catch('EUNKNOWN'),
  responseCode: z.int().optional().catch(undefined),
  command: z.string().optional().catch(undefined),
})

/**
 * Sends over SMTP (RFC 5321), with SMTPUTF8 (RFC 6531) for addresses that need it.
 *
 * @param url `smtp://user:password@host:587`, which must offer STARTTLS unless the host is this machine, or
 *   `smtps://…:465`
 */
export function smtpTransport(
  url: string,
  bounds: { connectMs?: number; socketMs?: number; deliveryMs?: number } = {},
): MailTransport {
  const { protocol, hostname, port, username, password } = new URL(url)
  const secure = protocol === 'smtps:'
  const connectMs = bounds.connectMs ?? CONNECT_MS
  const transporter = createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && !isThisMachine(hostname),
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: bounds.socketMs ?? SOCKET_MS,
  })
  return {
    async send(mail) {
      try {
        await withTimeout(transporter.sendMail(buildMessage(mail)), bounds.deliveryMs ?? DELIVERY_MS)
      } catch (error) {
        throw describeFailure(error)
      }
    },
    [Symbol.dispose]: () => transporter.close(),
  }
}

const isThisMachine = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

function describeFailure(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error
  const { code, responseCode, command } = Failure.parse(error)
  const refused = command === 'RCPT TO' && responseCode !== undefined && responseCode >= 500
  return new DeliveryError({ code, responseCode, refused })
}

/** Rejects after `ms`. It does not close the connection, which has timeouts of its own. */
async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  const timeout = sleep(ms, undefined, { ref: false }).then(() => {
    throw new DeliveryError({ code: 'ETIMEDOUT' })
  })
  return Promise.race([work, timeout])
}

/**
 * Writes each mail to `<Message-ID>.eml` in a directory (0700, files 0600) and announces its link, for a service that only
 * this machine can reach. Files are deleted after 24 hours.
 *
 * @param options.announce receives one line: `Mail for ana@example.org: http://localhost:8080/…`
 */
export function outboxTransport(options: {
  directory: string
  announce: (line: string) => void
}): MailTransport {
  const { directory } = options
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    async send(mail) {
      const { message } = await composer.sendMail(buildMessage(mail))
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const name = `${mail.messageId.replaceAll(/[^\w.@-]/g, '_')}.eml`
      await writeFile(path.join(directory, name), message, { mode: 0o600 })
      // A line that begins with `| ` quotes somebody else.
      const link = /^(?!\| ).*?(https?:\/\/\S+)/m.exec(mail.text)?.[1]
      options.announce(`Mail for ${mail.to}: ${link ?? mail.subject}`)
    },
    async sweep(now) {
      for (const name of await listMailFiles(directory)) {
        const file = path.join(directory, name)
        const { mtimeMs } = await stat(file)
        if (mtimeMs < now.getTime() - DAY_MS) await rm(file, { force: true })
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

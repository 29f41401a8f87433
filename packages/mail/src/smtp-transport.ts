import { createTransport } from 'nodemailer'
import { z } from 'zod'
import { DeliveryError, type MailTransport, messageOf } from './mail-transport.ts'
import { SECOND_MS } from './times.ts'

const CONNECT_MS = 5 * SECOND_MS
const SOCKET_MS = 20 * SECOND_MS
/** For a whole delivery, whatever a slow server does. */
const DELIVERY_MS = 60 * SECOND_MS

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
        await within(transporter.sendMail(messageOf(mail)), bounds.deliveryMs ?? DELIVERY_MS)
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

/** The connection itself ends by its own bounds a little later. */
async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new DeliveryError({ code: 'ETIMEDOUT' })), ms)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'

/** A mail as the SMTP server received it. */
export interface ReceivedMail {
  /** The sender of the envelope. */
  readonly from: string
  /** The recipients of the envelope. */
  readonly to: readonly string[]
  readonly messageId: string
  readonly subject: string
  readonly text: string
  readonly replyTo: string | undefined
  /** The complete message, before it was parsed. */
  readonly raw: string
  readonly parsed: Email
}

export interface MailServer extends AsyncDisposable {
  /** The value for `*_SMTP_URL`. */
  readonly url: string
  readonly received: readonly ReceivedMail[]
  /**
   * Waits, at most 10 s, until `count` mails have been received, and returns all mails received so far.
   *
   * @param to if set, only mails to this recipient count and are returned. Case is ignored
   */
  waitForMails(count: number, to?: string): Promise<ReceivedMail[]>
  /** Refuses the next deliveries with these SMTP codes, in order. */
  refuseNext(...refusals: { at: 'rcpt' | 'data'; code: number }[]): void
  /**
   * Set by a test. Called for each mail after the server has read it. The server accepts the mail once the returned promise
   * resolves.
   */
  beforeAccept: ((mail: ReceivedMail) => Promise<void>) | undefined
  /** Closes all connections without a response. A client then does not learn whether its mail was accepted. */
  dropConnections(): void
}

type Envelope = SMTPServerSession['envelope']

/**
 * A server that greets at once. `smtp-server` waits 100 ms before its greeting, to detect clients that send too soon. Its connections
 * are in the order in which they were opened. Its timer also calls `connectionReady`, which must not greet a second time.
 */
class PromptServer extends SMTPServer {
  override connect(...args: Parameters<SMTPServer['connect']>): void {
    super.connect(...args)
    const connection = [...this.connections].at(-1)
    if (!connection) return
    connection.connectionReady()
    connection.connectionReady = () => undefined
  }
}

const WAIT_MS = 10_000
/** Bounds the memory of a server that runs for days. */
const MAX_RECEIVED = 100_000

/**
 * Starts an SMTP server on this machine. It stores the newest 100,000 mails in memory.
 *
 * @param options options of `smtp-server`, for example to require a password. With `delaysGreeting`, the server
 *   waits 100 ms before it greets a client
 * @param port the port; by default a free one
 */
export async function startMailServer(
  { delaysGreeting = false, ...options }: SMTPServerOptions & { delaysGreeting?: boolean } = {},
  port = 0,
): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const refusals: { at: 'rcpt' | 'data'; code: number }[] = []
  const waitingChecks = new Set<() => void>()
  const createNextRefusal = (at: 'rcpt' | 'data') => {
    if (refusals[0]?.at !== at) return undefined
    const code = refusals.shift()?.code
    return Object.assign(new Error('canary-refusal <ana@example.org>'), { responseCode: code })
  }
  async function receive(raw: Buffer, envelope: Envelope, accept: () => void): Promise<void> {
    const mail = await readMail(raw, envelope)
    received.push(mail)
    if (received.length > MAX_RECEIVED) received.shift()
    await mailServer.beforeAccept?.(mail)
    accept()
    for (const check of waitingChecks) check()
  }
  const server = new (delaysGreeting ? SMTPServer : PromptServer)({
    authOptional: true,
    disableReverseLookup: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    ...options,
    onRcptTo: (_address, _session, done) => done(createNextRefusal('rcpt')),
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const refusal = createNextRefusal('data')
        if (refusal) done(refusal)
        else void receive(Buffer.concat(chunks), session.envelope, done)
      })
    },
  })
  const sockets = new Set<Socket>()
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('error', () => undefined)
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const mailServer: MailServer = {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received,
    beforeAccept: undefined,
    refuseNext: (...newRefusals) => void refusals.push(...newRefusals),
    dropConnections: () => sockets.forEach((socket) => void socket.destroy()),
    async waitForMails(count, to) {
      const findMatching = () =>
        received.filter(
          (mail) => to === undefined || mail.to.some((recipient) => isSameAddress(recipient, to)),
        )
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const check = () => findMatching().length >= count && resolve()
      const timer = setTimeout(
        () => reject(new Error(`waited for ${count} mails, received ${findMatching().length}`)),
        WAIT_MS,
      )
      waitingChecks.add(check)
      check()
      await promise.finally(() => {
        clearTimeout(timer)
        waitingChecks.delete(check)
      })
      return findMatching()
    },
    async [Symbol.asyncDispose]() {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(resolve)
      await promise
    },
  }
  return mailServer
}

const isSameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

async function readMail(raw: Buffer, envelope: Envelope): Promise<ReceivedMail> {
  const parsed = await PostalMime.parse(raw)
  return {
    from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
    to: envelope.rcptTo.map(({ address }) => address),
    messageId: parsed.messageId ?? '',
    subject: parsed.subject ?? '',
    text: (parsed.text ?? '').replaceAll('\r\n', '\n'),
    replyTo: parsed.replyTo?.[0]?.address,
    raw: raw.toString('utf8'),
    parsed,
  }
}

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'

/** A mail as an SMTP server took it. */
export interface ReceivedMail {
  /** Of the envelope. */
  readonly from: string
  readonly to: readonly string[]
  readonly messageId: string
  readonly subject: string
  readonly text: string
  readonly replyTo: string | undefined
  /** The whole message as it came. */
  readonly raw: string
  readonly parsed: Email
}

export interface MailServer extends AsyncDisposable {
  /** For `*_SMTP_URL`. */
  readonly url: string
  readonly received: readonly ReceivedMail[]
  /** Waits until `count` mails were received, for one addressee in any case if `to` is given, and returns those; at most 10 s. */
  mails(count: number, to?: string): Promise<ReceivedMail[]>
  /** What the next deliveries are answered before they are taken, in order; then mails are taken again. */
  refuseNext(...refusals: { at: 'rcpt' | 'data'; code: number }[]): void
  /** Called with each mail after it was read and before the client hears that it was accepted. */
  beforeAccept: ((mail: ReceivedMail) => Promise<void>) | undefined
}

type Envelope = SMTPServerSession['envelope']

const WAIT_MS = 10_000
/** For a server that runs for days. */
const MOST_KEPT = 100_000

/** A real SMTP server on a free port of this machine that keeps what it takes in memory, the newest when there are many. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const refusals: { at: 'rcpt' | 'data'; code: number }[] = []
  const waiting = new Set<() => void>()
  const refusal = (at: 'rcpt' | 'data') => {
    if (refusals[0]?.at !== at) return undefined
    const code = refusals.shift()?.code
    return Object.assign(new Error('canary-refusal <ana@example.org>'), { responseCode: code })
  }
  async function take(raw: Buffer, envelope: Envelope, accept: () => void): Promise<void> {
    const mail = await readMail(raw, envelope)
    received.push(mail)
    if (received.length > MOST_KEPT) received.shift()
    await handle.beforeAccept?.(mail)
    accept()
    for (const look of waiting) look()
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    ...options,
    onRcptTo: (_address, _session, done) => done(refusal('rcpt')),
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const refused = refusal('data')
        if (refused) done(refused)
        else void take(Buffer.concat(chunks), session.envelope, done)
      })
    },
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const handle: MailServer = {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received,
    beforeAccept: undefined,
    refuseNext: (...more) => void refusals.push(...more),
    async mails(count, to) {
      const theirs = () =>
        received.filter((mail) => to === undefined || mail.to.some((each) => sameAddress(each, to)))
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const look = () => theirs().length >= count && resolve()
      const timer = setTimeout(
        () => reject(new Error(`waited for ${count} mails, ${theirs().length} came`)),
        WAIT_MS,
      )
      waiting.add(look)
      look()
      await promise.finally(() => {
        clearTimeout(timer)
        waiting.delete(look)
      })
      return theirs()
    },
    async [Symbol.asyncDispose]() {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(resolve)
      await promise
    },
  }
  return handle
}

const sameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

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

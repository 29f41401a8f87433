import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { SMTPServer } from 'smtp-server'

/*
 * A stand-in for Mailpit, with its ports and `MP_…` settings but not its API: it accepts mail over STARTTLS only, and responds to every
 * request with the newest mails as a JSON array.
 */

/** The value of `MP_MAX_MESSAGES` in compose.yaml. */
const MAX_MAILS = 500
const received: { to: string[]; raw: string }[] = []

new SMTPServer({
  key: readFileSync(process.env['MP_SMTP_TLS_KEY'] ?? ''),
  cert: readFileSync(process.env['MP_SMTP_TLS_CERT'] ?? ''),
  authOptional: true,
  onMailFrom(_address, session, respond) {
    if (session.secure) respond()
    else respond(Object.assign(new Error('Must issue a STARTTLS command first'), { responseCode: 530 }))
  },
  onData(stream, session, respond) {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('end', () => {
      const to = session.envelope.rcptTo.map(({ address }) => address)
      received.push({ to, raw: Buffer.concat(chunks).toString() })
      if (received.length > MAX_MAILS) received.shift()
      respond()
    })
  },
}).listen(1025, '0.0.0.0')

createServer((_request, response) => response.end(JSON.stringify(received))).listen(8025, '0.0.0.0')

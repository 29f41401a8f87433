import { once } from 'node:events'
import { createServer } from 'node:http'
import { type MailServer, type ReceivedMail, startMailServer } from '@plainpath/mail/testing'
import { type Html, html, toMarkup } from '@plainpath/pages'

const MAX_SHOWN_MAILS = 200
const LINK = /(https?:\/\/[^\s<>"]+)/

/** A mail server for the stack, and a page that shows the newest mails. */
export interface Mailbox extends AsyncDisposable {
  /** The value for `*_SMTP_URL`. */
  readonly smtpUrl: string
  /** The page with the newest mails. */
  readonly url: string
}

/**
 * Starts an SMTP server that delivers nothing, and a page with the newest mails. Both listen on loopback.
 *
 * @param port the port of the page
 * @param smtpPort by default a free port
 */
export async function startMailbox(port: number, smtpPort = 0): Promise<Mailbox> {
  await using opening = new AsyncDisposableStack()
  const mail: MailServer = opening.use(await startMailServer({}, smtpPort))
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/') {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    })
    response.end(renderMailbox(mail.received.slice(-MAX_SHOWN_MAILS).toReversed()))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  opening.defer(async () => {
    server.close()
    server.closeAllConnections()
  })
  const resources = opening.move()
  return {
    smtpUrl: mail.url,
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const renderMailbox = (mails: readonly ReceivedMail[]): string =>
  toMarkup(html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Mail of the stack</title>
<h1>Mail of the stack</h1>
<p>${mails.length === 0 ? 'No mail has arrived yet.' : `Newest mails: ${mails.length}. Reload the page for newer ones.`} No mail is delivered.</p>
${mails.map(
  (mail) => html`<h2>${mail.subject}</h2>
<p>To ${mail.to.join(', ')}</p>
<pre>${renderWithLinks(mail.text)}</pre>
`,
)}
</html>
`)

const renderWithLinks = (text: string): Html[] =>
  text.split(LINK).map((part) => (LINK.test(part) ? html`<a href="${part}">${part}</a>` : html`${part}`))

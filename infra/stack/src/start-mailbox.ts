import { once } from 'node:events'
import { createServer } from 'node:http'
import { type MailServer, type ReceivedMail, startMailServer } from '@plainpath/mail/testing'
import { type Html, html, toMarkup } from '@plainpath/pages'

const MAX_SHOWN_MAILS = 200
/** The capturing group makes `split` keep the links. */
const LINK_PATTERN = /(https?:\/\/[^\s<>"]+)/

/** A mail server for the stack, and a page that shows the newest mails. */
export interface Mailbox extends AsyncDisposable {
  /** The value for `*_SMTP_URL`. */
  readonly smtpUrl: string
  /** The page with the newest mails. */
  readonly url: string
}

/**
 * Starts an SMTP server that delivers nothing, and an HTTP server whose page shows the newest mails. Both listen on the loopback
 * interface.
 *
 * @param smtpPort by default a free port
 */
export async function startMailbox(pagePort: number, smtpPort = 0): Promise<Mailbox> {
  await using opening = new AsyncDisposableStack()
  const mailServer: MailServer = opening.use(await startMailServer({}, smtpPort))
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
    response.end(renderMailbox(mailServer.received.slice(-MAX_SHOWN_MAILS).toReversed()))
  })
  server.listen(pagePort, '127.0.0.1')
  await once(server, 'listening')
  opening.defer(async () => {
    server.close()
    server.closeAllConnections()
  })
  const resources = opening.move()
  return {
    smtpUrl: mailServer.url,
    url: `http://127.0.0.1:${pagePort}/`,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const renderMailbox = (mails: readonly ReceivedMail[]): string =>
  toMarkup(html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Mail sent by the stack</title>
<h1>Mail sent by the stack</h1>
<p>${mails.length === 0 ? 'No mail has arrived yet.' : `Newest mails: ${mails.length}. Reload the page to see later ones.`}
Mail is shown here instead of being delivered.</p>
${mails.map(
  (mail) => html`<h2>${mail.subject}</h2>
<p>To ${mail.to.join(', ')}</p>
<pre>${renderWithLinks(mail.text)}</pre>
`,
)}
</html>
`)

const renderWithLinks = (text: string): Html[] =>
  text
    .split(LINK_PATTERN)
    .map((part) => (LINK_PATTERN.test(part) ? html`<a href="${part}">${part}</a>` : html`${part}`))

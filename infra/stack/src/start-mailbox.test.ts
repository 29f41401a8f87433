import { reserveFreePorts } from '@plainpath/http/free-ports'
import { createMailTransport } from '@plainpath/mail'
import { expect, test } from 'vitest'
import { startMailbox } from './start-mailbox.ts'

async function startMailboxOnFreePort() {
  const [port = 0] = await reserveFreePorts(1)
  return startMailbox(port)
}
const fetchText = async (url: string) => (await fetch(url)).text()

test('says that no mail has arrived', async () => {
  await using mailbox = await startMailboxOnFreePort()
  expect(await fetchText(mailbox.url)).toContain('No mail has arrived yet')
})

test('shows mails with clickable links and escaped markup', async () => {
  await using mailbox = await startMailboxOnFreePort()
  const settings = { smtpUrl: mailbox.smtpUrl, from: 'no-reply@localhost', outboxDirectory: '' }
  using transport = createMailTransport(settings, () => undefined)
  await transport.send({
    to: 'ana@example.org',
    subject: 'Confirm <b>',
    text: 'Open\nhttp://localhost:8080/waitlist/confirm?link=abc&more=1\n<script>alert(1)</script>\n',
    messageId: '1@localhost',
    from: 'no-reply@localhost',
    date: new Date('2026-11-20T12:00:00Z'),
  })
  const page = await fetchText(mailbox.url)
  expect(page).toContain('To ana@example.org')
  expect(page).toContain('<a href="http://localhost:8080/waitlist/confirm?link=abc&amp;more=1">')
  expect(page).toContain('Confirm &lt;b&gt;')
  expect(page).not.toContain('<script>')
})

test('responds with 404 to any other path', async () => {
  await using mailbox = await startMailboxOnFreePort()
  expect((await fetch(`${mailbox.url}other`)).status).toBe(404)
})

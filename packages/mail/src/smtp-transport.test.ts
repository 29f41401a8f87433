import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { startMailServer } from '../test/mail-server.ts'
import { createSmtpTransport, DeliveryError, type OutgoingMail } from './mail-transport.ts'

/** The text has lines that SMTP and mail files treat specially: a single dot, and `From` at the beginning. */
const mail: OutgoingMail = {
  to: 'Ana+Tag@example.org',
  subject: 'Gr\u00fc\u00dfe',
  text: 'Erste Zeile \u2713\n.\nFrom here\n',
  replyTo: 'ben@example.org',
  messageId: '1@plainpath.example',
  from: 'no-reply@plainpath.example',
  date: new Date('2026-11-20T12:00:00Z'),
}

/** Returns the error of a delivery, or `sent`. */
async function catchFailure(sending: Promise<void>): Promise<unknown> {
  return await sending.then(
    () => 'sent',
    (error: unknown) => error,
  )
}

test('sends a mail as plain text to exactly one address, as typed', async () => {
  await using server = await startMailServer()
  using transport = createSmtpTransport(server.url)
  await transport.send(mail)
  const [received] = server.received
  expect(received).toMatchObject({
    from: 'no-reply@plainpath.example',
    to: ['Ana+Tag@example.org'],
    messageId: '<1@plainpath.example>',
    subject: mail.subject,
    text: mail.text,
    replyTo: 'ben@example.org',
  })
  expect(received?.parsed.html).toBeUndefined()
  expect(received?.parsed.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated')
})

test('sends to an address with a non-ASCII local part without changing it (SMTPUTF8)', async () => {
  await using server = await startMailServer()
  using transport = createSmtpTransport(server.url)
  await transport.send({ ...mail, to: 'jos\u00e9@example.org' })
  expect(server.received[0]?.to).toEqual(['jos\u00e9@example.org'])
})

test('reports a refusal with its status code but no text, and whether the recipient was refused permanently', async () => {
  await using server = await startMailServer()
  using transport = createSmtpTransport(server.url)
  // Only the first is a permanent refusal (5xx) of the recipient.
  server.refuseNext({ at: 'rcpt', code: 550 }, { at: 'rcpt', code: 450 }, { at: 'data', code: 552 })
  for (const isRecipientRefused of [true, false, false]) {
    const error = await catchFailure(transport.send(mail))
    expect(error).toBeInstanceOf(DeliveryError)
    expect(error).toMatchObject({
      isRecipientRefused,
      message: expect.stringMatching(/^not delivered: E[A-Z]+ \(\d{3}\)$/),
    })
    // The server's refusals say `canary-refusal <ana@example.org>`.
    expect(String((error as Error).stack)).not.toMatch(/ana|canary/i)
  }
})

test.for([
  { fault: 'sends nothing', greeting: '', bounds: { connectMs: 100 } },
  {
    fault: 'sends nothing after its greeting',
    greeting: '220 slow\r\n',
    bounds: { connectMs: 1000, socketMs: 100 },
  },
  {
    fault: 'does not finish within the time limit for a whole delivery',
    greeting: '220 slow\r\n',
    bounds: { deliveryMs: 100, socketMs: 600_000 },
  },
])('fails and closes the connection if the server $fault', async ({ greeting, bounds }) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const silentServer = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .on('close', () => resolve())
      .resume()
      .write(greeting),
  )
  silentServer.listen(0, '127.0.0.1')
  await once(silentServer, 'listening')
  const { port } = silentServer.address() as AddressInfo
  using transport = createSmtpTransport(`smtp://127.0.0.1:${port}`, bounds)
  expect(await catchFailure(transport.send(mail))).toEqual(new DeliveryError({ code: 'ETIMEDOUT' }))
  await closed
  silentServer.close()
})

test('sends a password without TLS to this machine, but not to another machine', async () => {
  const userNames: unknown[] = []
  await using server = await startMailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth(auth, _session, done) {
      userNames.push(auth.username)
      done(null, { user: auth.username })
    },
  })
  // 0.0.0.0 reaches this machine, but the transport does not recognise it as this machine's address.
  using remoteTransport = createSmtpTransport(server.url.replace('127.0.0.1', 'ana:secret@0.0.0.0'))
  const error = await catchFailure(remoteTransport.send(mail))
  expect(error).toBeInstanceOf(DeliveryError)
  expect((error as Error).message).not.toContain('secret')
  expect([userNames, server.received]).toEqual([[], []])
  using localTransport = createSmtpTransport(server.url.replace('127.0.0.1', 'ana:secret@127.0.0.1'))
  await localTransport.send(mail)
  expect([userNames, server.received.length]).toEqual([['ana'], 1])
})

import { startMailServer } from '@plainpath/mail/testing'
import { openPool } from '@plainpath/postgres'
import { expect, test } from 'vitest'
import { type FaultProxy, startFaultProxy } from '../faults/fault-proxy.ts'
import { createSender, json } from '../send.ts'
import type { RegisteredAgent } from '../system/open-system.ts'
import { createMailSettings, STAFF_INBOX, verifyMailbox } from '../verification-steps.ts'
import { startSystem } from './start-system.ts'

// F-05 (the reply to a COMMIT is lost) and F-28 (a request is delivered twice) are faults of `e2e/faults/RESULTS.md`.
test('F-05, F-28 the API returns the stored message when a request is repeated after the reply to its COMMIT was lost', {
  timeout: 120_000,
}, async () => {
  await using opening = new AsyncDisposableStack()
  const mailServer = opening.use(await startMailServer())
  let proxy: FaultProxy | undefined
  const system = opening.use(
    await startSystem({
      // After a lost reply, an attempt takes as long as the time-out.
      useProductionTimeouts: true,
      env: createMailSettings(mailServer),
      async redirectDatabase(databaseUrl) {
        const url = new URL(databaseUrl)
        proxy = opening.use(await startFaultProxy({ host: url.hostname, port: Number(url.port) }))
        return Object.assign(url, { hostname: '127.0.0.1', port: String(proxy.port) }).href
      },
    }),
  )
  const sender = opening.use(createSender(system.origin))
  const registration = await sender.send({ method: 'POST', path: '/api/agent/register', ...json({}) })
  const agent = JSON.parse(registration.text) as RegisteredAgent
  const token = await verifyMailbox(agent, 'ana@example.org', { mail: mailServer, sender })
  const content = json({ topic: 'question', message: 'May I renew it from abroad?' })
  const headers = { ...content.headers, authorization: `Bearer ${token}`, 'idempotency-key': 'key-1' }
  const send = () => sender.send({ method: 'POST', path: '/api/contact', ...content, headers })
  const db = opening.use(openPool(system.adminUrls.resource, { max: 1, patience: 5 }))
  const listMessages = async () =>
    (
      await db.query<{ id: string; mails: number }>(
        'select id, (select count(*)::int from mails where about = m.id::text) as mails from contact_messages m',
      )
    ).rows

  // In the protocol of PostgreSQL, a zero byte ends the text of a statement.
  await proxy?.setFault({ kind: 'lose-reply-to', request: 'commit\0' })
  const sendAndCountMessages = async () => {
    const { status, headers: responseHeaders } = await send()
    expect([status, responseHeaders.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
    return (await listMessages()).length
  }
  // On a busy machine, the response can be 503 before anything is stored.
  await expect.poll(sendAndCountMessages).toBe(1)
  expect(proxy?.lostByteCount).toBeGreaterThan(0)
  // Each message has two mails: one to staff, and a receipt.
  const [message, ...others] = await listMessages()
  expect([message?.mails, others]).toEqual([2, []])

  await proxy?.setFault({ kind: 'pass' })
  // Until the API has replaced the connections that lost replies, the response can be 503. Any other response has the stored
  // message.
  const responses: { status: number; text: string }[] = []
  const sendAgain = async () => {
    const response = await send()
    responses.push(response)
    return response.status
  }
  for (const _attempt of [1, 2]) await expect.poll(sendAgain).toBe(202)
  for (const { status, text } of responses.filter((response) => response.status !== 503))
    expect([status, JSON.parse(text)]).toMatchObject([202, { id: message?.id, status: 'received' }])
  expect(await listMessages()).toEqual([message])
  const countUnsentMails = async () =>
    (await db.query(`select from mails where about = $1 and state <> 'sent'`, [message?.id])).rowCount
  await expect.poll(countUnsentMails).toBe(0)
  expect(mailServer.received.filter(({ to }) => to.includes(STAFF_INBOX))).toHaveLength(1)
})

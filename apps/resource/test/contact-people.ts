import { expect } from 'vitest'
import { type ContactApi, newMessage, STAFF_INBOX, startContact } from './contact-client.ts'
import { type HttpResponse, posting, sendRequest } from './send-request.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 24 * 60 * MINUTE_MS
export const FORM = {
  accept: 'text/html',
  'content-type': 'application/x-www-form-urlencoded',
  'sec-fetch-site': 'same-origin',
}

/** The stored row of a message that was erased. */
export const ERASED = {
  state: 'erased',
  message_sealed: null,
  reply_sealed: null,
  hand_off_sealed: null,
  agent_domain_sealed: null,
  content_hash: null,
  withdraw_hash: null,
}

/** The stored row of a message that was withdrawn: its link can still say so. */
export const WITHDRAWN = { ...ERASED, withdraw_hash: expect.any(Buffer) }

/** The API with a hold of ten minutes, by a clock that the test moves, and people who write. */
export async function startHolding() {
  const clock = { now: new Date('2026-11-20T12:00:00Z') }
  const contact = await startContact({ env: { RESOURCE_CONTACT_HOLD: '10' }, now: () => clock.now })
  const rows = async (sql: string, values: unknown[] = []) => (await contact.api.db.query(sql, values)).rows
  const later = (ms: number) => {
    clock.now = new Date(clock.now.getTime() + ms)
  }
  let people = 0
  return {
    contact,
    clock,
    rows,
    later,
    /** Moves the clock, and waits until the message has gone to staff. */
    async deliver(id: unknown, afterMs: number): Promise<void> {
      later(afterMs)
      await rows(`select pg_notify('mails', '')`)
      await contact.becomes(id, 'delivered')
    },
    storedContent: (id: unknown) =>
      rows(`select ${Object.keys(ERASED).join(', ')} from contact_messages where id = $1`, [id]),
    toDesk: (id: unknown) =>
      contact.server.received.filter(
        ({ to, subject }) => to.includes(STAFF_INBOX) && subject.includes(String(id)),
      ),
    press: (path: string, link: string): Promise<HttpResponse> =>
      sendRequest(contact.api.origin, { path, ...posting(`link=${link}`, FORM) }),
    /** The secrets of all receipts to an address, by the id of their message. */
    async withdrawLinks(email: string): Promise<Map<string, string>> {
      const pattern = /withdraw\?link=([\w-]{43})$[^]*^Message: ([\w-]{36})$/m
      const waiting = `select id from mails where kind = 'contact-receipt' and state = 'queued'`
      await expect.poll(() => rows(waiting), { timeout: 10_000 }).toEqual([])
      const receipts = contact.server.received.filter(({ to }) => to.includes(email))
      return new Map(
        receipts.flatMap(({ text }) => {
          const [, secret, id] = pattern.exec(text) ?? []
          return secret && id ? [[id, secret]] : []
        }),
      )
    },
    mailedLink: (email: string, kind: 'confirm' | 'withdraw') => mailedLink(contact, email, kind),
    newPerson: () => newPerson(contact, (people += 1)),
    [Symbol.asyncDispose]: () => contact[Symbol.asyncDispose](),
  }
}

export type Holding = Awaited<ReturnType<typeof startHolding>>
export type Person = ReturnType<typeof newPerson>

/** A person with an agent, whose mails are theirs alone. */
function newPerson(contact: ContactApi, number: number) {
  const email = `person-${number}@example.org`
  // A token does not last as long as some tests.
  const token = () => contact.tokenOf(email, `reg_${number}`)
  const send = (body: object, key?: string) =>
    contact.send(token(), body, key === undefined ? {} : { 'idempotency-key': key })
  return {
    email,
    send,
    async sent(body: object = newMessage(), key?: string) {
      const response = await send(body, key)
      expect(response.status, response.body).toBe(202)
      return response.json()
    },
    at: (method: string, id: unknown) =>
      sendRequest(contact.api.origin, {
        method,
        path: `/api/contact/${String(id)}`,
        headers: { authorization: `Bearer ${token()}` },
      }),
    link: () => mailedLink(contact, email, 'withdraw'),
  }
}

/** @returns the secret of the newest link of its kind */
async function mailedLink(contact: ContactApi, email: string, kind: 'confirm' | 'withdraw'): Promise<string> {
  const pattern = new RegExp(`/contact/${kind}\\?link=([\\w-]{43})$`, 'm')
  const secrets = () =>
    contact.server.received
      .filter(({ to }) => to.includes(email))
      .flatMap(({ text }) => pattern.exec(text)?.[1] ?? [])
  await expect.poll(secrets, { timeout: 10_000 }).not.toEqual([])
  return secrets().at(-1) ?? ''
}

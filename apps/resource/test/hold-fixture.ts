import { expect } from 'vitest'
import { createPost, type HttpResponse, sendRequest } from './send-request.ts'
import { type ContactApi, newMessage, STAFF_INBOX, startContact } from './start-contact.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 24 * 60 * MINUTE_MS
/** The headers of a form that a browser sends from our own page. */
export const FORM_HEADERS = {
  accept: 'text/html',
  'content-type': 'application/x-www-form-urlencoded',
  'sec-fetch-site': 'same-origin',
}

/** The values that an erasure leaves in the columns of a message. Columns with a time are left out. */
export const ERASED_ROW = {
  state: 'erased',
  message_sealed: null,
  reply_sealed: null,
  hand_off_sealed: null,
  agent_domain_sealed: null,
  note_sealed: null,
  content_hash: null,
  withdraw_hash: null,
}

/** The same columns after a withdrawal. The hash of the link remains, so that its page can say what happened. */
export const WITHDRAWN_ROW = { ...ERASED_ROW, withdraw_hash: expect.any(Buffer) }

/** Starts the API with a hold of ten minutes and with a clock that the test moves. */
export async function startHoldFixture() {
  const clock = { now: new Date('2026-11-20T12:00:00Z') }
  const contact = await startContact({ env: { RESOURCE_CONTACT_HOLD: '10' }, now: () => clock.now })
  const queryRows = async (sql: string, values: unknown[] = []) =>
    (await contact.api.db.query(sql, values)).rows
  const wakeMailer = () => queryRows(`select pg_notify('mails', '')`)
  const advanceClock = (ms: number) => {
    clock.now = new Date(clock.now.getTime() + ms)
  }
  let personCount = 0
  return {
    contact,
    clock,
    queryRows,
    advanceClock,
    /** Makes the mailer check for due mails now. */
    wakeMailer,
    /** Advances the clock by `afterMs`, and waits until the message has been mailed to staff. By then, its hold must be over. */
    async deliver(id: unknown, afterMs: number): Promise<void> {
      advanceClock(afterMs)
      await wakeMailer()
      await contact.waitForState(id, 'delivered')
    },
    /** Reads the columns of `ERASED_ROW`. */
    readStoredContent: (id: unknown) =>
      queryRows(`select ${Object.keys(ERASED_ROW).join(', ')} from contact_messages where id = $1`, [id]),
    /** Finds the mails to staff whose subject has the id of this message. */
    findStaffMails: (id: unknown) =>
      contact.mailServer.received.filter(
        ({ to, subject }) => to.includes(STAFF_INBOX) && subject.includes(String(id)),
      ),
    /** Presses the button on the page of a mailed link. */
    press: (path: string, link: string): Promise<HttpResponse> =>
      sendRequest(contact.api.origin, { path, ...createPost(`link=${link}`, FORM_HEADERS) }),
    /** Waits until every receipt is sent. Returns the link secrets of the receipts to this address, by message id. */
    async collectWithdrawLinks(email: string): Promise<Map<string, string>> {
      const pattern = /withdraw\?link=([\w-]{43})$[^]*^Message: ([\w-]{36})$/m
      const selectQueued = `select id from mails where kind = 'contact-receipt' and state = 'queued'`
      await expect.poll(() => queryRows(selectQueued), { timeout: 10_000 }).toEqual([])
      const receipts = contact.mailServer.received.filter(({ to }) => to.includes(email))
      return new Map(
        receipts.flatMap(({ text }) => {
          const [, secret, id] = pattern.exec(text) ?? []
          return secret && id ? [[id, secret]] : []
        }),
      )
    },
    waitForLink: (email: string, kind: 'confirm' | 'withdraw') => waitForLink(contact, email, kind),
    newPerson: () => newPerson(contact, (personCount += 1)),
    [Symbol.asyncDispose]: () => contact[Symbol.asyncDispose](),
  }
}

export type HoldFixture = Awaited<ReturnType<typeof startHoldFixture>>
export type Person = ReturnType<typeof newPerson>

/** Creates a person with their own address and agent. */
function newPerson(contact: ContactApi, number: number) {
  const email = `person-${number}@example.org`
  // Each request gets a new token, because some tests advance the clock beyond the lifetime of a token.
  const newToken = () => contact.issueToken(email, `reg_${number}`)
  const send = (body: object, key?: string) =>
    contact.send(newToken(), body, key === undefined ? {} : { 'idempotency-key': key })
  return {
    email,
    send,
    /** Sends a message and expects that it is accepted. Returns the body of the response. */
    async sendAccepted(body: object = newMessage(), key?: string) {
      const response = await send(body, key)
      expect(response.status, response.body).toBe(202)
      return response.json()
    },
    /** Sends a request to the address of a message. */
    requestMessage: (method: string, id: unknown) =>
      sendRequest(contact.api.origin, {
        method,
        path: `/api/contact/${String(id)}`,
        headers: { authorization: `Bearer ${newToken()}` },
      }),
    waitForWithdrawLink: () => waitForLink(contact, email, 'withdraw'),
  }
}

/** Waits for a mail with a link of this kind. Returns the secret of the newest such link. */
async function waitForLink(
  contact: ContactApi,
  email: string,
  kind: 'confirm' | 'withdraw',
): Promise<string> {
  const pattern = new RegExp(`/contact/${kind}\\?link=([\\w-]{43})$`, 'm')
  const findSecrets = () =>
    contact.mailServer.received
      .filter(({ to }) => to.includes(email))
      .flatMap(({ text }) => pattern.exec(text)?.[1] ?? [])
  await expect.poll(findSecrets, { timeout: 10_000 }).not.toEqual([])
  return findSecrets().at(-1) ?? ''
}

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eraseMessage } from '../src/contact/manage-messages.ts'
import {
  DAY_MS,
  ERASED_ROW,
  type HoldFixture,
  MINUTE_MS,
  type Person,
  startHoldFixture,
  WITHDRAWN_ROW,
} from './hold-fixture.ts'
import { expectProblem, type HttpResponse, sendRequest } from './send-request.ts'
import { newMessage } from './start-contact.ts'

let fixture: HoldFixture
beforeAll(async () => {
  fixture = await startHoldFixture()
})
afterEach(() => {
  fixture.contact.mailServer.beforeAccept = undefined
  fixture.contact.mailServer.dropConnections()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const PROMISES = /not see it|not (go|send it) to our staff/

const readStaffMail = async (id: unknown) =>
  (
    await fixture.queryRows(
      `select state, attempts, leased_until is not null as "isLeased", mail_sealed is not null as "hasContent"
       from mails where about = $1 and kind = 'contact-desk'`,
      [id],
    )
  )[0]

/** Calls `act` once the server has read the staff mail of a message, before it accepts the mail. */
function beforeAcceptingStaffMail(id: unknown, act: () => Promise<void> | void): void {
  fixture.contact.mailServer.beforeAccept = async ({ subject }) => {
    if (subject.includes(String(id))) await act()
  }
}

/** Ends the hold of a message, and waits until its staff mail has this state. */
async function attemptDelivery(id: unknown, expected: object): Promise<void> {
  fixture.advanceClock(10 * MINUTE_MS)
  await fixture.wakeMailer()
  await expect.poll(() => readStaffMail(id), { timeout: 10_000 }).toMatchObject(expected)
}

/** What a test does to the staff mail of a message before the message is withdrawn. */
interface Attempt {
  readonly name: string
  readonly attempt: (id: unknown) => Promise<void>
  /** How many copies of the staff mail the server has read. */
  readonly copies: number
}

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'the server accepted the mail, but the connection broke before its response',
    copies: 1,
    async attempt(id) {
      beforeAcceptingStaffMail(id, () => fixture.contact.mailServer.dropConnections())
      await attemptDelivery(id, { state: 'queued', attempts: 1, isLeased: false })
    },
  },
  {
    name: 'the process was killed while the server had the mail, and its lease has ended',
    copies: 1,
    async attempt(id) {
      const startedAt = fixture.clock.now.getTime()
      // As after a kill, the attempt never ends, and nothing returns the mail. `infinity` keeps the mailer of this API from repeating it.
      beforeAcceptingStaffMail(id, async () => {
        await fixture.queryRows(
          `update mails set overdue_at = 'infinity' where about = $1 and kind = 'contact-desk'`,
          [id],
        )
        fixture.advanceClock(3 * MINUTE_MS)
        await Promise.withResolvers<void>().promise
      })
      await attemptDelivery(id, { state: 'queued', attempts: 1, isLeased: true })
      await expect.poll(() => fixture.clock.now.getTime() - startedAt).toBe(13 * MINUTE_MS)
    },
  },
  {
    name: 'the server refused the mail for now',
    copies: 0,
    async attempt(id) {
      fixture.contact.mailServer.refuseNext({ at: 'data', code: 451 })
      await attemptDelivery(id, { state: 'queued', attempts: 1, isLeased: false })
    },
  },
  {
    name: 'the mail is dead',
    copies: 0,
    async attempt(id) {
      fixture.contact.mailServer.refuseNext({ at: 'rcpt', code: 550 })
      await attemptDelivery(id, { state: 'dead', attempts: 1 })
    },
  },
]

/** Sends a message whose receipt has arrived. */
async function sendMessage(person: Person) {
  const { id } = await person.sendAccepted({ ...newMessage(), handOff: { triggers: ['smuggling'] } })
  return { id, link: await person.waitForWithdrawLink() }
}

const openLink = (link: string) =>
  sendRequest(fixture.contact.api.origin, { path: `/contact/withdraw?link=${link}` })

function expectMayBeDelivered(response: HttpResponse, id: unknown): void {
  expectProblem(response, { status: 409, code: 'message-may-be-delivered' })
  expect(response.json()['detail']).toContain('staff may have received it by e-mail')
  expect(response.json()['detail']).toContain(String(id))
  expect(response.body).not.toMatch(PROMISES)
}

function expectMayBeDeliveredPage(page: HttpResponse, id: unknown): void {
  expect(page.status).toBe(410)
  expect(page.body).toContain('<h1>Your message is erased, but our staff may have it</h1>')
  expect(page.body).toContain(`name the message number ${String(id)}`)
  expect(page.body).not.toMatch(PROMISES)
  expect(page.body).not.toContain('method="post"')
}

/** Checks that the message is erased, and that its staff mail is not sent again within a day. */
async function expectErased(person: Person, id: unknown, copies: number): Promise<void> {
  expect((await person.requestMessage('GET', id)).json()).toEqual({ id, status: 'erased' })
  expect(await fixture.readStoredContent(id)).toEqual([WITHDRAWN_ROW])
  expect(await readStaffMail(id)).toMatchObject({ isLeased: false, hasContent: false })
  const erasures = fixture.contact.api.logLines.filter((line) => line.includes('message-erased'))
  expect(erasures.at(-1)).toContain(String(id))
  fixture.contact.mailServer.beforeAccept = undefined
  // Once this message has been delivered, the mailer has searched for due mails.
  const marker = await fixture.newPerson().sendAccepted()
  await fixture.deliver(marker['id'], DAY_MS)
  expect(fixture.findStaffMails(id)).toHaveLength(copies)
}

describe('withdrawing a message whose delivery was attempted erases it, but says that staff may have it', () => {
  test.for(ATTEMPTS)('by DELETE: $name', async ({ attempt, copies }) => {
    const person = fixture.newPerson()
    const { id, link } = await sendMessage(person)
    await attempt(id)
    // A client that missed the first response gets the same one again.
    for (const _time of [1, 2]) expectMayBeDelivered(await person.requestMessage('DELETE', id), id)
    expectMayBeDeliveredPage(await openLink(link), id)
    fixture.contact.mailServer.beforeAccept = undefined
    const [, withdrawalMail] = await fixture.contact.mailServer.waitForMails(2, person.email)
    const text = withdrawalMail?.text.replaceAll('\n', ' ')
    expect(text).toMatch(/^The message of \w+ \d+, \d{4} was withdrawn\. We erased the text\. An AI agent/)
    expect(text).toContain(
      `Before that, we tried to send it, so our staff may have received it by e-mail. You can ask them to delete that e-mail: write to us at ${fixture.contact.api.origin}/contact and name the message number below.`,
    )
    expect(text).toContain(`Message: ${String(id)} `)
    expect(text).not.toMatch(PROMISES)
    await expectErased(person, id, copies)
  })

  test.for(ATTEMPTS)('by the link of the receipt: $name', async ({ attempt, copies }) => {
    const person = fixture.newPerson()
    const { id, link } = await sendMessage(person)
    await attempt(id)
    const question = await openLink(link)
    expect(question.status).toBe(200)
    expect(question.body).not.toMatch(PROMISES)
    for (const _time of [1, 2]) expectMayBeDeliveredPage(await fixture.press('/contact/withdraw', link), id)
    expectMayBeDelivered(await person.requestMessage('DELETE', id), id)
    await expectErased(person, id, copies)
  })
})

test.for([
  { title: 'was attempted', isAttempted: true, status: 409 },
  { title: 'was not attempted', isAttempted: false, status: 204 },
])(
  'a message that staff erased, and whose delivery $title, is withdrawn with $status',
  async ({ isAttempted, status }) => {
    const person = fixture.newPerson()
    const { id } = await sendMessage(person)
    if (isAttempted) {
      fixture.contact.mailServer.refuseNext({ at: 'data', code: 451 })
      await attemptDelivery(id, { state: 'queued', attempts: 1, isLeased: false })
    }
    const erasure = { id: String(id), actor: 'ana', now: fixture.clock.now }
    expect(await eraseMessage(fixture.contact.api.db, erasure)).toBe(true)
    expect((await person.requestMessage('DELETE', id)).status).toBe(status)
  },
)

test.for([
  { title: 'could not be delivered', refusal: { at: 'rcpt', code: 550 } as const, state: 'dead' },
  { title: 'was delivered', refusal: undefined, state: 'sent' },
])(
  'a message that $title, and that was erased after 90 days, is withdrawn with 409',
  async ({ refusal, state }) => {
    const person = fixture.newPerson()
    const { id } = await sendMessage(person)
    if (refusal) fixture.contact.mailServer.refuseNext(refusal)
    await attemptDelivery(id, { state })
    fixture.advanceClock(90 * DAY_MS)
    await fixture.contact.api.resource.retention.enforce()
    expect(await fixture.readStoredContent(id)).toEqual([ERASED_ROW])
    expectMayBeDelivered(await person.requestMessage('DELETE', id), id)
  },
)

describe('withdrawing a message whose delivery was never attempted promises that staff do not get it', () => {
  test('by DELETE', async () => {
    const person = fixture.newPerson()
    const { id, link } = await sendMessage(person)
    for (const _time of [1, 2]) expect((await person.requestMessage('DELETE', id)).status).toBe(204)
    expect((await openLink(link)).body).toContain('It does not go to our staff.')
    const [, withdrawalMail] = await fixture.contact.mailServer.waitForMails(2, person.email)
    expect(withdrawalMail?.text).toContain('Our staff will not see it. We erased the text.')
    await expectErased(person, id, 0)
  })

  test('by the link of the receipt', async () => {
    const person = fixture.newPerson()
    const { id, link } = await sendMessage(person)
    const page = await fixture.press('/contact/withdraw', link)
    expect([page.status, page.body.includes('It did not go to our staff.')]).toEqual([200, true])
    expect((await fixture.press('/contact/withdraw', link)).body).toContain('It does not go to our staff.')
    expect((await person.requestMessage('DELETE', id)).status).toBe(204)
    await expectErased(person, id, 0)
  })
})

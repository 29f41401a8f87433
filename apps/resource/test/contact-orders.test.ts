import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newMessage } from './contact-client.ts'
import { type HoldFixture, MINUTE_MS, type Person, startHoldFixture } from './contact-people.ts'

let fixture: HoldFixture
beforeAll(async () => {
  fixture = await startHoldFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

/** A message as the contract expects it. */
interface ExpectedMessage {
  readonly id: string
  readonly content: string
  readonly key: string | undefined
  readonly heldUntil: number
  state: 'received' | 'delivered' | 'erased'
}

const stepArbitrary = fc.oneof(
  fc.record({
    does: fc.constant('send' as const),
    text: fc.constantFrom('One.', 'Two.'),
    isUrgent: fc.boolean(),
    key: fc.constantFrom(undefined, 'key-1', 'key-2'),
  }),
  fc.record({
    does: fc.constant('withdraw' as const),
    index: fc.nat(3),
    by: fc.constantFrom('agent' as const, 'link' as const),
  }),
  fc.record({ does: fc.constant('wait' as const), minutes: fc.constantFrom(1, 4, 10) }),
)
type Step = typeof stepArbitrary extends fc.Arbitrary<infer S> ? S : never

async function send(
  person: Person,
  step: Step & { does: 'send' },
  messages: ExpectedMessage[],
): Promise<void> {
  const body = {
    topic: 'other',
    message: step.text,
    handOff: step.isUrgent ? { triggers: ['missed-hearing'] } : null,
  }
  const content = JSON.stringify(body)
  const response = await person.send(body, step.key)
  const { code, first, id } = response.json()
  const withSameKey = step.key === undefined ? undefined : messages.find(({ key }) => key === step.key)
  const duplicates = messages.filter((other) => other.content === content && other.state !== 'erased')
  if (withSameKey && withSameKey.content !== content) return expect(code).toBe('idempotency-key-reused')
  if (withSameKey?.state === 'erased') return expect(code).toBe('message-withdrawn')
  if (withSameKey) return expect([response.status, id]).toEqual([202, withSameKey.id])
  if (step.key === undefined && duplicates.length > 0) {
    expect(code).toBe('duplicate-message')
    return expect(duplicates.map((other) => other.id)).toContain(first)
  }
  expect(response.status, response.body).toBe(202)
  const heldUntil = fixture.clock.now.getTime() + (step.isUrgent ? 1 : 10) * MINUTE_MS
  expect(response.json()['heldUntil']).toBe(new Date(heldUntil).toISOString())
  messages.push({ id: String(id), content, key: step.key, heldUntil, state: 'received' })
}

async function withdraw(person: Person, message: ExpectedMessage, by: 'agent' | 'link'): Promise<void> {
  const links = await fixture.findWithdrawLinks(person.email)
  const { status } =
    by === 'agent'
      ? await person.requestMessage('DELETE', message.id)
      : await fixture.press('/contact/withdraw', links.get(message.id) ?? '')
  const expectedStatus = {
    agent: { received: 204, delivered: 409, erased: 204 },
    link: { received: 200, delivered: 410, erased: 410 },
  }
  expect(status).toBe(expectedStatus[by][message.state])
  if (message.state === 'received') message.state = 'erased'
}

async function wait(minutes: number, messages: readonly ExpectedMessage[]): Promise<void> {
  fixture.advanceClock(minutes * MINUTE_MS)
  for (const message of messages) {
    if (message.state !== 'received' || message.heldUntil > fixture.clock.now.getTime()) continue
    await fixture.deliver(message.id, 0)
    message.state = 'delivered'
  }
}

test('each message goes to staff once unless it was withdrawn in time, in any order of sending, withdrawing and waiting', {
  timeout: 120_000,
}, async () => {
  const property = fc.asyncProperty(
    fc.array(stepArbitrary, { minLength: 4, maxLength: 12 }),
    async (steps) => {
      const person = fixture.newPerson()
      const messages: ExpectedMessage[] = []
      for (const step of steps) {
        if (step.does === 'send') await send(person, step, messages)
        else if (step.does === 'wait') await wait(step.minutes, messages)
        else {
          const message = messages[step.index]
          if (message) await withdraw(person, message, step.by)
        }
        for (const { id, state } of messages)
          expect((await person.requestMessage('GET', id)).json()['status']).toBe(state)
      }
      await wait(10, messages)
      for (const { id, state } of messages)
        expect(fixture.findStaffMails(id)).toHaveLength(state === 'delivered' ? 1 : 0)
    },
  )
  await fc.assert(property, { numRuns: 12, seed: 2122 })
})

test('a message that is withdrawn when its hold ends is either delivered or erased, and never both', async () => {
  const person = fixture.newPerson()
  for (let round = 0; round < 20; round += 1) {
    const { id } = await person.sendAccepted(newMessage())
    fixture.advanceClock(10 * MINUTE_MS)
    const [, { status }] = await Promise.all([
      fixture.queryRows(`select pg_notify('mails', '')`),
      person.requestMessage('DELETE', id),
    ])
    if (status === 204) {
      const staffMail = `select state from mails where about = $1 and kind = 'contact-desk'`
      expect([await fixture.queryRows(staffMail, [id]), fixture.findStaffMails(id)]).toEqual([
        [{ state: 'dropped' }],
        [],
      ])
    } else {
      expect(status).toBe(409)
      await fixture.contact.waitForState(id, 'delivered')
      expect(fixture.findStaffMails(id)).toHaveLength(1)
    }
  }
})

test('a message cannot be withdrawn after the mail server has read it and before it accepts it', async () => {
  const person = fixture.newPerson()
  const { id } = await person.sendAccepted(newMessage())
  let code: unknown
  fixture.contact.mailServer.beforeAccept = async ({ subject }) => {
    if (subject.includes(String(id))) code = (await person.requestMessage('DELETE', id)).json()['code']
  }
  await fixture.deliver(id, 10 * MINUTE_MS)
  expect(code).toBe('message-being-delivered')
  expect(fixture.findStaffMails(id)).toHaveLength(1)
})

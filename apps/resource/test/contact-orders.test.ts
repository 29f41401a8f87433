import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newMessage } from './contact-client.ts'
import { type Holding, MINUTE_MS, type Person, startHolding } from './contact-people.ts'

let holding: Holding
beforeAll(async () => {
  holding = await startHolding()
})
afterAll(() => holding[Symbol.asyncDispose]())

/** The contract for a message. */
interface Model {
  readonly id: string
  readonly content: string
  readonly key: string | undefined
  readonly heldUntil: number
  state: 'received' | 'delivered' | 'erased'
}

const step = fc.oneof(
  fc.record({
    does: fc.constant('send' as const),
    text: fc.constantFrom('One.', 'Two.'),
    isUrgent: fc.boolean(),
    key: fc.constantFrom(undefined, 'key-1', 'key-2'),
  }),
  fc.record({
    does: fc.constant('withdraw' as const),
    nth: fc.nat(3),
    by: fc.constantFrom('agent' as const, 'link' as const),
  }),
  fc.record({ does: fc.constant('wait' as const), minutes: fc.constantFrom(1, 4, 10) }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

async function send(person: Person, sent: Step & { does: 'send' }, messages: Model[]): Promise<void> {
  const body = {
    topic: 'other',
    message: sent.text,
    handOff: sent.isUrgent ? { triggers: ['missed-hearing'] } : null,
  }
  const content = JSON.stringify(body)
  const response = await person.send(body, sent.key)
  const { code, first, id } = response.json()
  const sameKey = sent.key === undefined ? undefined : messages.find(({ key }) => key === sent.key)
  const same = messages.filter((other) => other.content === content && other.state !== 'erased')
  if (sameKey && sameKey.content !== content) return expect(code).toBe('idempotency-key-reused')
  if (sameKey?.state === 'erased') return expect(code).toBe('message-withdrawn')
  if (sameKey) return expect([response.status, id]).toEqual([202, sameKey.id])
  if (sent.key === undefined && same.length > 0) {
    expect(code).toBe('duplicate-message')
    return expect(same.map((other) => other.id)).toContain(first)
  }
  expect(response.status, response.body).toBe(202)
  const heldUntil = holding.clock.now.getTime() + (sent.isUrgent ? 1 : 10) * MINUTE_MS
  expect(response.json()['heldUntil']).toBe(new Date(heldUntil).toISOString())
  messages.push({ id: String(id), content, key: sent.key, heldUntil, state: 'received' })
}

async function withdraw(person: Person, message: Model, by: 'agent' | 'link'): Promise<void> {
  const links = await holding.withdrawLinks(person.email)
  const { status } =
    by === 'agent'
      ? await person.at('DELETE', message.id)
      : await holding.press('/contact/withdraw', links.get(message.id) ?? '')
  const expected = {
    agent: { received: 204, delivered: 409, erased: 204 },
    link: { received: 200, delivered: 410, erased: 410 },
  }
  expect(status).toBe(expected[by][message.state])
  if (message.state === 'received') message.state = 'erased'
}

async function wait(minutes: number, messages: readonly Model[]): Promise<void> {
  holding.later(minutes * MINUTE_MS)
  for (const message of messages) {
    if (message.state !== 'received' || message.heldUntil > holding.clock.now.getTime()) continue
    await holding.deliver(message.id, 0)
    message.state = 'delivered'
  }
}

test('staff get each message once unless it was withdrawn in time, in any order of sending, withdrawing and waiting', {
  timeout: 120_000,
}, async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
    const person = holding.newPerson()
    const messages: Model[] = []
    for (const next of steps) {
      if (next.does === 'send') await send(person, next, messages)
      else if (next.does === 'wait') await wait(next.minutes, messages)
      else {
        const message = messages[next.nth]
        if (message) await withdraw(person, message, next.by)
      }
      for (const { id, state } of messages) expect((await person.at('GET', id)).json()['status']).toBe(state)
    }
    await wait(10, messages)
    for (const { id, state } of messages)
      expect(holding.toDesk(id)).toHaveLength(state === 'delivered' ? 1 : 0)
  })
  await fc.assert(property, { numRuns: 12, seed: 2122 })
})

test('a message that is withdrawn as its hold ends goes to staff or is erased, never both', async () => {
  const person = holding.newPerson()
  for (let time = 0; time < 20; time += 1) {
    const { id } = await person.sent(newMessage())
    holding.later(10 * MINUTE_MS)
    const [, { status }] = await Promise.all([
      holding.rows(`select pg_notify('mails', '')`),
      person.at('DELETE', id),
    ])
    if (status === 204) {
      const mail = `select state from mails where about = $1 and kind = 'contact-desk'`
      expect([await holding.rows(mail, [id]), holding.toDesk(id)]).toEqual([[{ state: 'dropped' }], []])
    } else {
      expect(status).toBe(409)
      await holding.contact.becomes(id, 'delivered')
      expect(holding.toDesk(id)).toHaveLength(1)
    }
  }
})

test('a message that the mail server has read and not yet accepted cannot be withdrawn', async () => {
  const person = holding.newPerson()
  const { id } = await person.sent(newMessage())
  let code: unknown
  holding.contact.server.beforeAccept = async ({ subject }) => {
    if (subject.includes(String(id))) code = (await person.at('DELETE', id)).json()['code']
  }
  await holding.deliver(id, 10 * MINUTE_MS)
  expect(code).toBe('message-being-delivered')
  expect(holding.toDesk(id)).toHaveLength(1)
})

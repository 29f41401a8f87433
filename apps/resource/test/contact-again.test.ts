import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newMessage } from './contact-client.ts'
import { DAY_MS, type Holding, MINUTE_MS, type Person, startHolding } from './contact-people.ts'
import { expectProblem } from './send-request.ts'

let holding: Holding
beforeAll(async () => {
  holding = await startHolding()
})
afterAll(() => holding[Symbol.asyncDispose]())

describe('the Idempotency-Key of a message', () => {
  test('that was withdrawn is 409 until its key expires, nothing is stored, and a new key sends it', async () => {
    const person = holding.newPerson()
    const body = newMessage()
    const first = await person.sent(body, 'key-1')
    holding.later(MINUTE_MS)
    expect(await person.sent(body, 'key-1')).toEqual(first)
    expect((await person.at('DELETE', first['id'])).status).toBe(204)
    const keptBefore = await holding.contact.kept()
    const refused = await person.send(body, 'key-1')
    expectProblem(refused, { status: 409, code: 'message-withdrawn' })
    expect(refused.json()['detail']).toContain('new Idempotency-Key')
    expectProblem(await person.send(newMessage(), 'key-1'), { status: 422, code: 'idempotency-key-reused' })
    expect(await holding.contact.kept()).toBe(keptBefore)
    const second = await person.sent(body, 'key-2')
    expect(second['id']).not.toBe(first['id'])
    expect((await person.at('GET', second['id'])).json()['status']).toBe('received')
  })

  test('with other triggers is 422', async () => {
    const person = holding.newPerson()
    const body = newMessage()
    await person.sent(body, 'key-1')
    const changed = { ...body, handOff: { triggers: ['missed-hearing'] } }
    expectProblem(await person.send(changed, 'key-1'), { status: 422, code: 'idempotency-key-reused' })
  })
})

describe('the same message again', () => {
  test('within 24 hours and without a key is 409, which names the first, and nothing is stored', async () => {
    const person = holding.newPerson()
    const body = { ...newMessage(), guideSlug: 'work-permit' }
    const { id } = await person.sent(body, 'key-1')
    holding.later(DAY_MS - 1)
    const keptBefore = await holding.contact.kept()
    const refused = await person.send({ ...body, message: ` ${body.message}\r\n` })
    expectProblem(refused, { status: 409, code: 'duplicate-message' })
    expect(refused.json()).toMatchObject({ first: id, detail: expect.stringContaining(String(id)) })
    expect(await holding.contact.kept()).toBe(keptBefore)
  })

  test.for([
    ['another text', (person: Person) => person.send(newMessage())],
    ['another topic', (person: Person, body: object) => person.send({ ...body, topic: 'other' })],
    ['a guide', (person: Person, body: object) => person.send({ ...body, guideSlug: 'work-permit' })],
    [
      'triggers',
      (person: Person, body: object) => person.send({ ...body, handOff: { triggers: ['scam-victim'] } }),
    ],
    ['a key', (person: Person, body: object) => person.send(body, 'key-1')],
    ['somebody else', (_person: Person, body: object) => holding.newPerson().send(body)],
    [
      '24 hours',
      (person: Person, body: object) => {
        holding.later(DAY_MS)
        return person.send(body)
      },
    ],
    [
      'the first one withdrawn',
      async (person: Person, body: object, id: unknown) => {
        await person.at('DELETE', id)
        return person.send(body)
      },
    ],
  ] as const)('with %s is sent', async ([, again]) => {
    const person = holding.newPerson()
    const body = newMessage()
    const { id } = await person.sent(body)
    const sent = await again(person, body, id)
    expect([sent.status, sent.json()['id'] === id]).toEqual([202, false])
  })

  test('is sent once when several arrive at the same time', async () => {
    const person = holding.newPerson()
    for (let time = 0; time < 10; time += 1) {
      const body = newMessage()
      const sent = await Promise.all(Array.from({ length: 4 }, () => person.send(body)))
      const [first, ...others] = sent.filter(({ status }) => status === 202)
      expect([first?.status, others]).toEqual([202, []])
      // On a busy machine some wait for a connection or a lock longer than they may: 503.
      for (const each of sent.filter(({ status }) => status === 409))
        expect(each.json()['first']).toBe(first?.json()['id'])
    }
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY_MS, type HoldFixture, MINUTE_MS, type Person, startHoldFixture } from './hold-fixture.ts'
import { expectProblem } from './send-request.ts'
import { newMessage } from './start-contact.ts'

let fixture: HoldFixture
beforeAll(async () => {
  fixture = await startHoldFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

describe('the Idempotency-Key of a message', () => {
  test('is refused with 409 after the message was withdrawn, and a new key sends the message', async () => {
    const person = fixture.newPerson()
    const body = newMessage()
    const first = await person.sendAccepted(body, 'key-1')
    fixture.advanceClock(MINUTE_MS)
    expect(await person.sendAccepted(body, 'key-1')).toEqual(first)
    expect((await person.requestMessage('DELETE', first['id'])).status).toBe(204)
    const rowsBefore = await fixture.contact.countStoredRows()
    const refusal = await person.send(body, 'key-1')
    expectProblem(refusal, { status: 409, code: 'message-withdrawn' })
    expect(refusal.json()['detail']).toContain('new Idempotency-Key')
    expectProblem(await person.send(newMessage(), 'key-1'), { status: 422, code: 'idempotency-key-reused' })
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
    const second = await person.sendAccepted(body, 'key-2')
    expect(second['id']).not.toBe(first['id'])
    expect((await person.requestMessage('GET', second['id'])).json()['status']).toBe('received')
  })

  test('is refused with 422 for the same text with other triggers', async () => {
    const person = fixture.newPerson()
    const body = newMessage()
    await person.sendAccepted(body, 'key-1')
    const changedBody = { ...body, handOff: { triggers: ['missed-hearing'] } }
    expectProblem(await person.send(changedBody, 'key-1'), { status: 422, code: 'idempotency-key-reused' })
  })
})

describe('the same message a second time', () => {
  test('is refused with 409 within 24 hours, the response names the first, and nothing is stored', async () => {
    const person = fixture.newPerson()
    const body = { ...newMessage(), guideSlug: 'work-permit' }
    const { id } = await person.sendAccepted(body, 'key-1')
    fixture.advanceClock(DAY_MS - 1)
    const rowsBefore = await fixture.contact.countStoredRows()
    // White space around the text does not make it another message.
    const refusal = await person.send({ ...body, message: ` ${body.message}\r\n` })
    expectProblem(refusal, { status: 409, code: 'duplicate-message' })
    expect(refusal.json()).toMatchObject({ first: id, detail: expect.stringContaining(String(id)) })
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
  })

  test.for([
    ['another text', (person: Person) => person.send(newMessage())],
    ['another topic', (person: Person, body: object) => person.send({ ...body, topic: 'other' })],
    ['a guide', (person: Person, body: object) => person.send({ ...body, guideSlug: 'work-permit' })],
    [
      'triggers',
      (person: Person, body: object) => person.send({ ...body, handOff: { triggers: ['scam-victim'] } }),
    ],
    ['an Idempotency-Key', (person: Person, body: object) => person.send(body, 'key-1')],
    ['another person', (_person: Person, body: object) => fixture.newPerson().send(body)],
    [
      '24 hours later',
      (person: Person, body: object) => {
        fixture.advanceClock(DAY_MS)
        return person.send(body)
      },
    ],
    [
      'the first was withdrawn',
      async (person: Person, body: object, id: unknown) => {
        await person.requestMessage('DELETE', id)
        return person.send(body)
      },
    ],
  ] as const)('is accepted with this difference: %s', async ([, sendAgain]) => {
    const person = fixture.newPerson()
    const body = newMessage()
    const { id } = await person.sendAccepted(body)
    const response = await sendAgain(person, body, id)
    expect([response.status, response.json()['id'] === id]).toEqual([202, false])
  })

  test('is accepted only once if it arrives four times simultaneously', async () => {
    const person = fixture.newPerson()
    for (let round = 0; round < 10; round += 1) {
      const body = newMessage()
      const responses = await Promise.all(Array.from({ length: 4 }, () => person.send(body)))
      const [first, ...others] = responses.filter(({ status }) => status === 202)
      expect([first?.status, others]).toEqual([202, []])
      // Others may be 503 on a busy machine, where the wait for a connection or a lock can exceed its limit.
      for (const refusal of responses.filter(({ status }) => status === 409))
        expect(refusal.json()['first']).toBe(first?.json()['id'])
    }
  })
})

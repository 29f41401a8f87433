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
  test('returns the first response until the message is withdrawn, and is then refused with 409, while a new key sends the message', async () => {
    const person = fixture.newPerson()
    const body = newMessage()
    const firstMessage = await person.sendAccepted(body, 'key-1')
    // Within the hold of ten minutes, so the message can still be withdrawn.
    fixture.advanceClock(MINUTE_MS)
    expect(await person.sendAccepted(body, 'key-1')).toEqual(firstMessage)
    expect((await person.requestMessage('DELETE', firstMessage['id'])).status).toBe(204)
    const rowsBefore = await fixture.contact.countStoredRows()
    const refusal = await person.send(body, 'key-1')
    expectProblem(refusal, { status: 409, code: 'message-withdrawn' })
    expect(refusal.json()['detail']).toContain('new Idempotency-Key')
    expectProblem(await person.send(newMessage(), 'key-1'), { status: 422, code: 'idempotency-key-reused' })
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
    const secondMessage = await person.sendAccepted(body, 'key-2')
    expect(secondMessage['id']).not.toBe(firstMessage['id'])
    expect((await person.requestMessage('GET', secondMessage['id'])).json()['status']).toBe('received')
  })

  test('is refused with 422 for the same text with other triggers', async () => {
    const person = fixture.newPerson()
    const body = newMessage()
    await person.sendAccepted(body, 'key-1')
    const changedBody = { ...body, handOff: { triggers: ['missed-hearing'] } }
    expectProblem(await person.send(changedBody, 'key-1'), { status: 422, code: 'idempotency-key-reused' })
  })
})

// Only a message without an Idempotency-Key is refused as a duplicate. The earlier message may have a key.
describe('a message like an earlier one', () => {
  test('is refused with 409 within 24 hours, with the id of the first message, and is not stored', async () => {
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
    ['its text differs', (person: Person) => person.send(newMessage())],
    ['its topic differs', (person: Person, body: object) => person.send({ ...body, topic: 'other' })],
    [
      'it names a guide',
      (person: Person, body: object) => person.send({ ...body, guideSlug: 'work-permit' }),
    ],
    [
      'it has triggers',
      (person: Person, body: object) => person.send({ ...body, handOff: { triggers: ['scam-victim'] } }),
    ],
    ['it has an Idempotency-Key', (person: Person, body: object) => person.send(body, 'key-1')],
    ['another person sends it', (_person: Person, body: object) => fixture.newPerson().send(body)],
    [
      '24 hours have passed',
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
  ] as const)('is accepted if %s', async ([, sendAgain]) => {
    const person = fixture.newPerson()
    const body = newMessage()
    const { id } = await person.sendAccepted(body)
    const response = await sendAgain(person, body, id)
    expect([response.status, response.json()['id'] === id]).toEqual([202, false])
  })

  test('is accepted only once if it arrives four times simultaneously', async () => {
    const person = fixture.newPerson()
    // Several rounds, because a race may not show in one.
    for (let round = 0; round < 10; round += 1) {
      const body = newMessage()
      const responses = await Promise.all(Array.from({ length: 4 }, () => person.send(body)))
      const [accepted, ...others] = responses.filter(({ status }) => status === 202)
      expect([accepted?.status, others]).toEqual([202, []])
      // On a busy machine, other responses may have the status 503, if the wait for a connection or a lock exceeds its limit.
      for (const refusal of responses.filter(({ status }) => status === 409))
        expect(refusal.json()['first']).toBe(accepted?.json()['id'])
    }
  })
})

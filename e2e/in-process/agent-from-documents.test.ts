import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatBasicAuthorization, type RegisteredAgent } from '../crawl/agent.ts'
import { DocumentReader } from '../crawl/document-reader.ts'
import { json } from '../send.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

let system: SystemWithMail
beforeAll(async () => {
  system = await startSystemWithMail()
})
afterAll(() => system[Symbol.asyncDispose]())

/** Creates a reader for an agent that knows only the origin, and reads the document there. */
async function readOrigin(): Promise<DocumentReader> {
  const reader = new DocumentReader()
  await reader.read(system.origin)
  return reader
}

const withBody = (body: object, headers: Record<string, string>) => {
  const content = json(body)
  return { ...content, headers: { ...content.headers, ...headers } }
}

const register = async (reader: DocumentReader) =>
  (await reader.send('register', 201)) as unknown as RegisteredAgent

test('an agent reads a guide with a token in at most 4 requests', async () => {
  const reader = await readOrigin()
  const agent = await register(reader)
  const token = await reader.send('token', 200, {
    headers: { authorization: formatBasicAuthorization(agent) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const headers = { authorization: `Bearer ${token['access_token']}`, accept: 'application/json' }
  const guide = await reader.send('readGuide', 200, { headers })
  expect(guide).toMatchObject({
    title: expect.any(String),
    body: expect.any(String),
    sources: expect.any(Array),
  })
  expect(reader.requestCount).toBeLessThanOrEqual(4)
})

test('an agent gets an answer, and another one with facts, in at most 3 requests without a token', async () => {
  const reader = await readOrigin()
  const question = 'When do I renew my green card?'
  const { check } = await reader.send('ask', 200, json({ question }))
  const [{ trigger }] = check as [{ trigger: string }]
  const answer = await reader.send('ask', 200, json({ question, facts: { [trigger]: true } }))
  expect(answer).toMatchObject({ outcome: 'hand_off' })
  expect(reader.requestCount).toBeLessThanOrEqual(3)
})

test('an agent sends a message for a person in at most 9 requests, and deletes its registration in 1 more', async () => {
  const reader = await readOrigin()
  // Before the agent registers, it finds out how to delete a registration.
  await reader.find('deleteRegistration')
  const agent = await register(reader)
  const basic = { authorization: formatBasicAuthorization(agent) }
  const email = `${randomUUID()}@example.org`
  const verification = await reader.send('beginVerification', 202, withBody({ email }, basic))
  const otp = await system.confirm(email, String(verification['match_phrase']))
  const completion = await reader.send('completeVerification', 200, withBody({ otp }, basic))
  const token = await reader.send('tokenForPerson', 200, {
    headers: basic,
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: String(completion['identity_assertion']),
    }),
  })
  const bearer = { authorization: `Bearer ${token['access_token']}`, 'idempotency-key': randomUUID() }
  const message = { topic: 'question', message: 'When do I renew my work permit?' }
  const sentMessage = await reader.send('sendMessage', 202, withBody(message, bearer))
  expect(sentMessage).toMatchObject({ id: expect.any(String), status: 'received' })
  expect(reader.requestCount).toBeLessThanOrEqual(9)

  const countBefore = reader.requestCount
  await reader.send('deleteRegistration', 204, { headers: basic })
  expect(reader.requestCount - countBefore).toBe(1)
})

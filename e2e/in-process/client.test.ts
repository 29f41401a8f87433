import { randomUUID } from 'node:crypto'
import { Plainpath } from '@plainpath/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSecondSecret, formatBasicAuthorization } from '../crawl/agent.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

let system: SystemWithMail
beforeAll(async () => {
  system = await startSystemWithMail()
})
afterAll(() => system[Symbol.asyncDispose]())

const QUESTION = 'When do I renew my green card?'
const MESSAGE = { topic: 'question', message: 'When do I renew my work permit?' } as const

async function createVerifiedClient(): Promise<Plainpath> {
  const client = new Plainpath(system.origin)
  const email = `${randomUUID()}@example.org`
  await client.register({ client_name: 'A client' })
  const { match_phrase } = await client.beginVerification(email)
  await client.completeVerification(await system.confirm(email, match_phrase))
  return client
}

test('a client asks, searches and reads without a registration', async () => {
  const client = new Plainpath(system.origin)
  const answer = await client.ask(QUESTION)
  expect(answer).toMatchObject({ outcome: 'information', check: expect.any(Array) })
  expect(await client.ask(QUESTION, { facts: { 'long-absence': true } })).toMatchObject({
    outcome: 'hand_off',
  })
  const [foundGuide, ...furtherGuides] = await client.search('work permit', { limit: 1 })
  expect(furtherGuides).toEqual([])
  const guide = await client.guide(foundGuide!.slug)
  expect(guide).toMatchObject({ slug: foundGuide!.slug, title: foundGuide!.title })
  const { version } = guide
  expect(await client.guide(foundGuide!.slug, { version })).toMatchObject({ slug: foundGuide!.slug, version })
})

// The second slug has a form that no guide has.
test.for([
  ['no-such-guide', 404, 'not-found'],
  ['No Such Guide', 404, 'not-found'],
] as const)('reading the guide %s fails with a typed error', async ([slug, status, code]) => {
  await expect(new Plainpath(system.origin).guide(slug)).rejects.toMatchObject({
    name: 'PlainpathError',
    status,
    code,
    detail: expect.stringMatching(/\w/),
    requestId: expect.stringMatching(/\w/),
  })
})

test('a client is restored from its credentials, and gets a new token after its tokens have been revoked', async () => {
  const client = new Plainpath(system.origin)
  const credentials = await client.register()
  const restored = new Plainpath(system.origin, { credentials: JSON.parse(JSON.stringify(credentials)) })
  await restored.guide('work-permit')

  // Deleting any secret revokes every token of the client.
  const secretsUrl = `${system.origin}/api/agent/secrets`
  const clientCredentials = {
    client_id: credentials.client_id,
    client_secret: String(credentials.client_secret),
  }
  const secondSecretId = await createSecondSecret(secretsUrl, clientCredentials)
  const headers = { authorization: formatBasicAuthorization(clientCredentials) }
  expect((await fetch(`${secretsUrl}/${secondSecretId}`, { method: 'DELETE', headers })).status).toBe(204)
  expect(await restored.guide('work-permit')).toMatchObject({ slug: 'work-permit' })

  await restored.deleteRegistration()
  const call = client.beginVerification('person@example.org')
  await expect(call).rejects.toMatchObject({ status: 401, code: 'invalid-client' })
  expect(await client.guide('work-permit')).toMatchObject({ slug: 'work-permit' })
})

test('repeated calls send a message only once, and the client reads the status of the message and withdraws it', async () => {
  const client = await createVerifiedClient()
  const message = await client.sendMessage(MESSAGE)
  expect(await client.sendMessage(MESSAGE)).toEqual(message)
  const restored = new Plainpath(system.origin, { credentials: client.credentials })
  expect((await restored.sendMessage(MESSAGE)).id).toBe(message.id)
  expect(await restored.messageStatus(message.id)).toMatchObject({ id: message.id, status: 'received' })

  await client.withdraw(message.id)
  expect(await client.messageStatus(message.id)).toMatchObject({ status: 'erased' })
  await expect(client.sendMessage(MESSAGE)).rejects.toMatchObject({ code: 'message-withdrawn' })
  const otherMessage = await client.sendMessage(MESSAGE, { idempotencyKey: randomUUID() })
  expect(otherMessage.id).not.toBe(message.id)
  await client.deleteRegistration()
  expect(client.credentials).toBeUndefined()
})

test('a call fails with the matching problem code if no person has confirmed the agent, or the one-time code has not been shown or is wrong', async () => {
  const client = new Plainpath(system.origin)
  await client.register()
  await expect(client.sendMessage(MESSAGE)).rejects.toMatchObject({ status: 409, code: 'no-claim' })
  const email = `${randomUUID()}@example.org`
  const { match_phrase } = await client.beginVerification(email)
  await expect(client.completeVerification('123456')).rejects.toMatchObject({ code: 'code-not-shown' })
  const code = (await system.confirm(email, match_phrase)).replaceAll(' ', '')
  const wrongCode = code === '111111' ? '222222' : '111111'
  await expect(client.completeVerification(wrongCode)).rejects.toMatchObject({
    code: 'otp-invalid',
    problem: { attempts_remaining: expect.any(Number) },
  })
})

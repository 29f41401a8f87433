import { randomUUID } from 'node:crypto'
import { type AgentDocuments, startAgentDocuments } from '@plainpath/auth/agent-documents'
import { Plainpath, type PlainpathOptions } from '@plainpath/client'
import type { JWK } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

const resources = new AsyncDisposableStack()
let documents: AgentDocuments
let system: SystemWithMail
beforeAll(async () => {
  documents = resources.use(await startAgentDocuments())
  system = resources.use(await startSystemWithMail({ documents }))
})
afterAll(() => resources.disposeAsync())
afterEach(() => void vi.restoreAllMocks())

const MESSAGE = { topic: 'question', message: 'When do I renew my work permit?' } as const

type Algorithm = 'ECDSA' | 'Ed25519'
/** Generates a key pair whose private key cannot be exported. For Ed25519, `namedCurve` is ignored. */
const generateKeys = async (name: Algorithm) =>
  (await crypto.subtle.generateKey({ name, namedCurve: 'P-256' }, false, ['sign', 'verify'])) as NonNullable<
    PlainpathOptions['keys']
  >

async function registerKey(name: Algorithm): Promise<PlainpathOptions> {
  const keys = await generateKeys(name)
  return {
    keys,
    credentials: await new Plainpath(system.origin, { keys }).register({ client_name: 'A client' }),
  }
}

async function publishDocument(name: Algorithm): Promise<PlainpathOptions> {
  const keys = await generateKeys(name)
  const jwk = (await crypto.subtle.exportKey('jwk', keys.publicKey)) as JWK
  const { client_id } = documents.publish([
    { jwk: { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y } as JWK },
  ])
  return { keys, credentials: { origin: system.origin, client_id } }
}

/** Lets a person with a new address confirm the client. */
async function confirm(client: Plainpath): Promise<void> {
  const email = `${randomUUID()}@example.org`
  const { match_phrase } = await client.beginVerification(email)
  await client.completeVerification(await system.confirm(email, match_phrase))
}

/** Records the headers of the requests to a path, which are sent unchanged. */
function recordHeaders(path: string): Headers[] {
  const recorded: Headers[] = []
  const { fetch } = globalThis
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input, init)
    if (new URL(request.url).pathname === path) recorded.push(request.headers)
    return await fetch(input, init)
  })
  return recorded
}

describe.for([
  { identity: 'a registered key for ECDSA', createOptions: () => registerKey('ECDSA') },
  { identity: 'a registered key for Ed25519', createOptions: () => registerKey('Ed25519') },
  { identity: 'a document with a key for ECDSA', createOptions: () => publishDocument('ECDSA') },
  { identity: 'a document with a key for Ed25519', createOptions: () => publishDocument('Ed25519') },
])('a client with $identity', ({ createOptions }) => {
  test('reads a guide, sends a message once with a token that is bound to its key, and withdraws it', async () => {
    const options = await createOptions()
    const client = new Plainpath(system.origin, options)
    expect(await client.guide('work-permit')).toMatchObject({ slug: 'work-permit' })
    await confirm(client)
    const sentHeaders = recordHeaders('/api/contact')
    const message = await client.sendMessage(MESSAGE)
    expect((await client.sendMessage(MESSAGE)).id).toBe(message.id)

    expect(sentHeaders).toHaveLength(2)
    for (const headers of sentHeaders) expect(headers.get('authorization')).toMatch(/^DPoP ppt_/)
    // Neither a replay of the request nor the token without a proof is accepted.
    const url = `${system.origin}/api/contact`
    const body = JSON.stringify(MESSAGE)
    const replay = new Headers(sentHeaders[0])
    const bearer = new Headers(sentHeaders[0])
    bearer.set('authorization', String(sentHeaders[0]?.get('authorization')).replace('DPoP', 'Bearer'))
    bearer.delete('dpop')
    for (const headers of [replay, bearer])
      expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(401)

    const otherClient = new Plainpath(system.origin, options)
    expect(await otherClient.messageStatus(message.id)).toMatchObject({ status: 'received' })
    await otherClient.withdraw(message.id)
    expect(await client.messageStatus(message.id)).toMatchObject({ status: 'erased' })
  })

  test('gets the same message as another client with the same key only if both use one idempotency key', async () => {
    const options = await createOptions()
    const clients = [new Plainpath(system.origin, options), new Plainpath(system.origin, options)]
    await confirm(clients[0]!)
    const idempotencyKey = randomUUID()
    const send = (client?: Plainpath) => client!.sendMessage(MESSAGE, { idempotencyKey })
    const sharedMessage = await send(clients[0])
    expect((await send(clients[1])).id).toBe(sharedMessage.id)
    // Without an idempotency key, the second client cannot know what the first has sent, because they share no secret.
    const [firstMessage, secondMessage] = [
      await clients[0]!.sendMessage(MESSAGE),
      await clients[1]!.sendMessage(MESSAGE),
    ]
    expect(new Set([sharedMessage.id, firstMessage.id, secondMessage.id]).size).toBe(3)
    await clients[0]!.deleteRegistration()
    await expect(clients[1]!.messageStatus(firstMessage.id)).rejects.toMatchObject({ name: 'PlainpathError' })
  })
})

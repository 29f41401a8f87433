import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { createLimiter, createMemoryLimitStore, Problem } from '@plainpath/http'
import type { HashKey } from '@plainpath/sealing'
import Koa, { type Context } from 'koa'
import { expect, test } from 'vitest'
import { createExampleAgent, createExampleHashKey } from '../../test/example-agent.ts'
import { createExampleKey } from '../../test/example-key.ts'
import type { ExpiredAgent } from '../agents/agent-expiry.ts'
import type { AgentRecord } from '../agents/agent-store.ts'
import { createClientAuthenticator } from './client-authenticator.ts'

const NOW = new Date('2026-11-20T09:00:00Z')
const realHashKey = createExampleHashKey()
/** The secret of every client in these tests, unless its digest is replaced. A digest of zeros stands for another secret. */
const SECRET = 'pps_secret'
const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined }

function createRequest(id: string, secret: string): Context {
  const incoming = new IncomingMessage(new Socket())
  incoming.rawHeaders = ['Authorization', `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`]
  const ctx = new Koa().createContext(incoming, new ServerResponse(incoming))
  ctx.state['address'] = '203.0.113.1'
  return ctx
}

/**
 * Authenticates a client with a secret.
 *
 * @returns the id of the authenticated client or the problem's code, and how many lookups and hashes that took
 */
async function authenticate(client: AgentRecord | undefined, secret = SECRET, expired?: ExpiredAgent) {
  const work = { lookups: 0, hashes: 0 }
  const hashKey: HashKey = {
    ...realHashKey,
    hash(label, value) {
      work.hashes += 1
      return realHashKey.hash(label, value)
    },
  }
  const now = () => NOW
  const authenticator = createClientAuthenticator({
    find: async () => {
      work.lookups += 1
      return client
    },
    findExpired: async () => expired,
    findUrlClient: async () => undefined,
    hashKey,
    usedJtis: { markUsed: async () => 'used' as const },
    issuer: 'https://plainpath.example',
    limiter: createLimiter({ store: createMemoryLimitStore(now), factor: 1, now, log: silentLog }),
    now,
  })
  // The authenticator hashed a dummy secret when it was created.
  work.hashes = 0
  try {
    const { clientId } = await authenticator(createRequest(`agt_${'A'.repeat(22)}`, secret))
    return { outcome: clientId, work }
  } catch (error) {
    return { outcome: error instanceof Problem ? error.code : error, work }
  }
}

const createRecord = (
  status: 'active' | 'disabled' | 'deleted',
  secrets: Partial<AgentRecord['secrets'][number]>[] = [{}],
) => ({
  agent: { ...createExampleAgent().agent, status },
  secrets: secrets.map((members) => ({
    id: 'secret-1',
    createdAt: NOW,
    digest: realHashKey.hash('client-secret', SECRET),
    keyId: realHashKey.id,
    endsAt: undefined,
    ...members,
  })),
})

test('looks up the client once and hashes once for an unknown, disabled or deleted client, and for a wrong secret', async () => {
  const refusals = await Promise.all([
    authenticate(undefined),
    authenticate(createRecord('active'), 'pps_wrong'),
    authenticate(createRecord('disabled')),
    authenticate(createRecord('deleted', [])),
  ])
  for (const refusal of refusals)
    expect(refusal).toEqual({ outcome: 'invalid-client', work: { lookups: 1, hashes: 1 } })
})

test('reveals that a client expired only to a caller that presents its secret, and never if it had keys', async () => {
  const { id } = createExampleAgent().agent
  const secrets = [{ digest: realHashKey.hash('client-secret', SECRET), keyId: realHashKey.id }]
  const expired = { id, keys: [], secrets, cause: 'idle' as const, expiredAt: NOW }
  expect((await authenticate(undefined, SECRET, expired)).outcome).toBe('client-expired')
  for (const otherExpired of [
    { ...expired, secrets: [] },
    { ...expired, keys: [createExampleKey('one')] },
  ])
    expect((await authenticate(undefined, SECRET, otherExpired)).outcome).toBe('invalid-client')
  expect((await authenticate(undefined, 'pps_wrong', expired)).outcome).toBe('invalid-client')
})

test.for([
  ['accepts', 'the only secret', [{}]],
  ['accepts', 'the older of two secrets', [{}, { digest: Buffer.alloc(32) }]],
  ['accepts', 'the newer of two secrets', [{ digest: Buffer.alloc(32) }, {}]],
  ['accepts', 'a secret that expires later', [{ endsAt: new Date(NOW.getTime() + 1) }]],
  ['refuses', 'a secret that expires now', [{ endsAt: NOW }]],
  ['refuses', 'an expired secret, beside another', [{ endsAt: new Date(0) }, { digest: Buffer.alloc(32) }]],
  ['refuses', 'a secret under another hash key', [{ keyId: 'another' }]],
] satisfies ['accepts' | 'refuses', string, Partial<AgentRecord['secrets'][number]>[]][])(
  '%s %s',
  async ([verb, _case, secrets]) => {
    const client = createRecord('active', secrets)
    expect((await authenticate(client)).outcome).toBe(verb === 'accepts' ? client.agent.id : 'invalid-client')
  },
)

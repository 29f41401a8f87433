import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { createLimiter, createMemoryLimitStore, Problem } from '@plainpath/http'
import type { HashKey } from '@plainpath/sealing'
import Koa, { type Context } from 'koa'
import { expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import type { ExpiredAgent } from '../agents/agent-expiry.ts'
import type { AgentRecord } from '../agents/agent-store.ts'
import { createClientAuthenticator } from './client-authenticator.ts'

const NOW = new Date('2026-11-20T09:00:00Z')
const key = exampleHashKey()
const SECRET = 'pps_secret'
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

function request(id: string, secret: string): Context {
  const incoming = new IncomingMessage(new Socket())
  incoming.rawHeaders = ['Authorization', `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`]
  const ctx = new Koa().createContext(incoming, new ServerResponse(incoming))
  ctx.state['address'] = '203.0.113.1'
  return ctx
}

/** @returns the authenticated client, or the problem's code; and the amount of work */
async function authenticate(client: AgentRecord | undefined, secret = SECRET, expired?: ExpiredAgent) {
  const work = { looks: 0, hashes: 0 }
  const hashKey: HashKey = {
    ...key,
    id: key.id,
    hash(label, value) {
      work.hashes += 1
      return key.hash(label, value)
    },
  }
  const now = () => NOW
  const authenticator = createClientAuthenticator({
    find: async () => {
      work.looks += 1
      return client
    },
    findExpired: async () => expired,
    findUrlClient: async () => undefined,
    hashKey,
    usedJtis: { markUsed: async () => 'used' as const },
    issuer: 'https://plainpath.example',
    limiter: createLimiter({ store: createMemoryLimitStore(now), factor: 1, now, log: silent }),
    now,
  })
  work.hashes = 0
  try {
    const { clientId } = await authenticator(request(`agt_${'A'.repeat(22)}`, secret))
    return { outcome: clientId, work }
  } catch (error) {
    return { outcome: error instanceof Problem ? error.code : error, work }
  }
}

const known = (
  status: 'active' | 'disabled' | 'deleted',
  secrets: Partial<AgentRecord['secrets'][number]>[] = [{}],
) => ({
  agent: { ...exampleAgent().agent, status },
  secrets: secrets.map((members) => ({
    id: 'secret-1',
    createdAt: NOW,
    digest: key.hash('client-secret', SECRET),
    keyId: key.id,
    endsAt: undefined,
    ...members,
  })),
})

test('does the same work for an unknown, wrong, disabled and deleted client', async () => {
  const refused = await Promise.all([
    authenticate(undefined),
    authenticate(known('active'), 'pps_wrong'),
    authenticate(known('disabled')),
    authenticate(known('deleted', [])),
  ])
  for (const each of refused)
    expect(each).toEqual({ outcome: 'invalid-client', work: { looks: 1, hashes: 1 } })
})

test('reveals that a client expired only to a caller that presents its secret', async () => {
  const { id } = exampleAgent().agent
  const secrets = [{ digest: key.hash('client-secret', SECRET), keyId: key.id }]
  const expired = { id, keys: [], secrets, cause: 'idle' as const, expiredAt: NOW }
  expect((await authenticate(undefined, SECRET, expired)).outcome).toBe('client-expired')
  for (const left of [
    { ...expired, secrets: [] },
    { ...expired, keys: [exampleKey('one')] },
  ])
    expect((await authenticate(undefined, SECRET, left)).outcome).toBe('invalid-client')
  expect((await authenticate(undefined, 'pps_wrong', expired)).outcome).toBe('invalid-client')
})

test.for([
  ['the only one', [{}], true],
  ['the older of two', [{}, { digest: Buffer.alloc(32) }], true],
  ['the newer of two', [{ digest: Buffer.alloc(32) }, {}], true],
  ['one that ends later', [{ endsAt: new Date(NOW.getTime() + 1) }], true],
  ['one that ends now', [{ endsAt: NOW }], false],
  ['one that has ended, beside another', [{ endsAt: new Date(0) }, { digest: Buffer.alloc(32) }], false],
  ['one under another hash key', [{ keyId: 'another' }], false],
] satisfies [string, Partial<AgentRecord['secrets'][number]>[], boolean][])(
  'of the secrets of a client, %s is good: %s',
  async ([_which, secrets, good]) => {
    const client = known('active', secrets)
    expect((await authenticate(client)).outcome).toBe(good ? client.agent.id : 'invalid-client')
  },
)

import { AgentId } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { deactivateAgent } from '../src/agents/deactivate-agent.ts'
import { readStatusReason } from '../src/agents/status-reason.ts'
import { createEvents } from '../src/events.ts'
import { isActive } from './agent-client.ts'
import { type AgentDocuments, startAgentDocuments, type UrlAgent } from './agent-documents.ts'
import { expectProblem } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed, TOKEN_STORES } from './open-auth-testbed.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  type Clock,
  getUrlToken,
  openUrlStores,
  postFormAsUrlClient,
  requestUrlToken,
  sendAsAgent,
  setClockBack,
  startUrlInstance,
} from './url-agent.ts'

describe.for(TOKEN_STORES)('a URL client of which old facts are remembered, tokens in %s,', (tokenStore) => {
  const resources = new AsyncDisposableStack()
  let server: AgentDocuments
  let testbed: AuthTestbed
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let key: KeyPair
  let clock: Clock
  beforeAll(async () => {
    clock = { now: new Date() }
    server = resources.use(await startAgentDocuments())
    testbed = resources.use(await openAuthTestbed(tokenStore))
    auth = resources.use(await startUrlInstance(testbed, server, clock))
    otherInstance = resources.use(await startUrlInstance(testbed, server, clock, { origin: auth.origin }))
    key = await generateTestKeyPair()
  })
  afterAll(() => resources.disposeAsync())

  const publish = () => server.publish([key])
  const revoke = (agent: UrlAgent, token: string) =>
    postFormAsUrlClient(auth, agent, clock, { path: '/oauth/revoke', fields: { token } })

  const openSharedStores = () => openUrlStores(testbed, auth, server, clock)

  test('has an active token at an instance that has cached the client as unknown', async () => {
    const agent = publish()
    expect((await revoke(agent, 'x')).status).toBe(401)
    const { token } = await getUrlToken(otherInstance, agent, clock)
    expect(await isActive(auth, token)).toBe(true)
  })

  test('keeps its token when another client revokes it at an instance that has cached the client as unknown', async () => {
    const [agent, stranger] = [publish(), publish()]
    await getUrlToken(auth, stranger, clock)
    expect((await revoke(agent, 'x')).status).toBe(401)
    const { token } = await getUrlToken(otherInstance, agent, clock)
    expectProblem(await revoke(stranger, token), { status: 400, code: 'foreign-token' })
    expect(await isActive(otherInstance, token)).toBe(true)
  })

  test('does not expire as never used in a flood if it was deleted and got tokens again on the same day', async () => {
    const agent = publish()
    setClockBack(clock, 3_700)
    await getUrlToken(auth, agent, clock)
    setClockBack(clock, 3_650)
    const deleteResponse = await sendAsAgent(auth, agent, clock, { method: 'DELETE', path: '/api/agent' })
    expect(deleteResponse.status, deleteResponse.text).toBe(204)
    setClockBack(clock, 3_610)
    await getUrlToken(auth, agent, clock)
    setClockBack(clock, 0)
    const { token } = await getUrlToken(auth, agent, clock)
    // In a flood, the upkeep of each instance expires agents that were never used.
    await using stores = await openSharedStores()
    await expireAgents({ ...stores, events: createEvents() }, clock.now, 0)
    expect(await isActive(auth, token)).toBe(true)
  })

  test('is shown without the reason of its deletion once it got a token again', async () => {
    const agent = publish()
    await getUrlToken(auth, agent, clock)
    await using stores = await openSharedStores()
    const id = AgentId.parse(agent.client_id)
    await deactivateAgent(stores, id, 'deleted', 'abuse')
    expect(await readStatusReason(testbed.db, id)).toBe('abuse')
    await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
    expect(await readStatusReason(testbed.db, id)).toBeUndefined()
  })
})
